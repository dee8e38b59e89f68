// SPDX-License-Identifier: Apache-2.0
// Norms, activations, rotary embedding, embedding and sums against plain loops in double and central differences.
#include "engine/ops/kernels/embeddinggradient.h"
#include "engine/ops/kernels/norms.h"
#include "engine/ops/kernels/reduce.h"
#include "engine/ops/kernels/rotary.h"
#include "engine/ops/kernels/rows.h"
#include "tests/engine/bodyruns.h"
#include "tests/support/runner.h"

#include <QTest>

using namespace shardboard::engine;
using namespace shardboard::engine::numeric;

namespace {

using Scalar = double (*)(double);

double silu(double x) { return x / (1 + std::exp(-x)); }
double gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double geluTanh(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))); }

struct NormCase {
    std::size_t rows = 0;
    std::size_t n = 0;
    double epsilon = 0;
    double offset = 0;
    bool centred = false; ///< LayerNorm
};

Doubles norm(const NormCase& c, const Doubles& x, const Doubles& weight, const Doubles& bias)
{
    Doubles out(x.size());
    const auto size = static_cast<double>(c.n);
    for (std::size_t r = 0; r < c.rows; ++r) {
        double mean = 0;
        for (std::size_t i = 0; c.centred && i < c.n; ++i)
            mean += x[r * c.n + i] / size;
        double variance = 0;
        for (std::size_t i = 0; i < c.n; ++i)
            variance += (x[r * c.n + i] - mean) * (x[r * c.n + i] - mean) / size;
        for (std::size_t i = 0; i < c.n; ++i)
            out[r * c.n + i] =
                (x[r * c.n + i] - mean) / std::sqrt(variance + c.epsilon) * (weight[i] + c.offset) + (bias.empty() ? 0.0 : bias[i]);
    }
    return out;
}

bodies::NormRule ruleOf(const NormCase& c)
{
    bodies::NormRule rule;
    rule.epsilon = c.epsilon;
    rule.offset = static_cast<float>(c.offset);
    rule.centred = c.centred ? 1 : 0;
    rule.n = static_cast<std::int64_t>(c.n);
    return rule;
}

Floats normOf(const NormCase& c, const Floats& x, const Floats& weight, const Floats& bias)
{
    bodies::NormBody body;
    body.rule = ruleOf(c);
    Floats out(x.size());
    bodies::NormBody::Entry entry;
    entry.x = elements(x);
    entry.weight = elements(weight);
    entry.bias = elements(bias);
    entry.out = elements(out);
    entry.rows = static_cast<std::int64_t>(c.rows);
    runAll(body, entry, entry.rows);
    return out;
}

/// `dx` may be dy.
void normGradient(const NormCase& c, const Floats& dy, const Floats& x, const Floats& weight, Floats& dx)
{
    bodies::NormGradientBody body;
    body.rule = ruleOf(c);
    bodies::NormGradientBody::Entry entry;
    entry.dy = elements(dy);
    entry.x = elements(x);
    entry.weight = elements(weight);
    entry.out = elements(dx);
    entry.rows = static_cast<std::int64_t>(c.rows);
    runAll(body, entry, entry.rows);
}

} // namespace

class TestRowGradients : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void norms_data()
    {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("n");
        QTest::addColumn<double>("offset");
        QTest::addColumn<bool>("centred");
        for (const bool centred : { false, true }) {
            const std::string name = centred ? "layer" : "rms";
            QTest::addRow("%s, one row", name.c_str()) << 1 << 7 << 0.0 << centred;
            QTest::addRow("%s, not a multiple of a vector", name.c_str()) << 5 << 37 << 0.0 << centred;
            QTest::addRow("%s, whole vectors", name.c_str()) << 3 << 48 << 0.0 << centred;
        }
        QTest::addRow("rms, offset weight") << 4 << 21 << 1.0 << false;
    }
    void norms()
    {
        QFETCH(int, rows);
        QFETCH(int, n);
        QFETCH(double, offset);
        QFETCH(bool, centred);
        const NormCase c { at(rows), at(n), 1e-2, offset, centred };
        const Floats x = randomFloats(rows * n, 1, 0.4, 1.3);
        const Floats w = randomFloats(n, 2, 0.8);
        const Floats b = centred ? randomFloats(n, 3) : Floats();
        const Floats dy = randomFloats(rows * n, 4, 0.2);
        VERIFY_NEAR(normOf(c, x, w, b), norm(c, doubles(x), doubles(w), doubles(b)), 1e-6);

        Floats dx(x.size());
        normGradient(c, dy, x, w, dx);
        const auto ofX = [&](const Doubles& at) { return dot(norm(c, at, doubles(w), doubles(b)), doubles(dy)); };
        VERIFY_NEAR(dx, gradientOf(ofX, doubles(x)), 2e-6);
        Floats inPlace = dy;
        normGradient(c, inPlace, x, w, inPlace);
        QCOMPARE(inPlace, dx);

        Floats dw(at(n), 0.5f); // what is there stays in the sum
        normWeightGradient(centred, c.epsilon, dy.data(), x.data(), rows, n, dw.data());
        const auto ofW = [&](const Doubles& at) { return dot(norm(c, doubles(x), at, doubles(b)), doubles(dy)); };
        Doubles expected = gradientOf(ofW, doubles(w));
        for (double& value : expected)
            value += 0.5;
        VERIFY_NEAR(dw, expected, 2e-6);
    }

    /// More rows and columns than are summed at once; the sums in double are the answer.
    void weightGradientsOfManyRows()
    {
        const std::int64_t rows = 700, n = 300;
        const Floats x = randomFloats(rows * n, 1, 0.5);
        const Floats dy = randomFloats(rows * n, 2, 0.1);
        Doubles rms(at(n)), layer(at(n));
        for (std::size_t r = 0; r < at(rows); ++r) {
            double square = 0, mean = 0, variance = 0;
            for (std::size_t i = 0; i < at(n); ++i) {
                square += double { x[r * at(n) + i] } * double { x[r * at(n) + i] } / static_cast<double>(n);
                mean += double { x[r * at(n) + i] } / static_cast<double>(n);
            }
            for (std::size_t i = 0; i < at(n); ++i)
                variance += std::pow(double { x[r * at(n) + i] } - mean, 2) / static_cast<double>(n);
            for (std::size_t i = 0; i < at(n); ++i) {
                const double g = double { dy[r * at(n) + i] };
                rms[i] += g * double { x[r * at(n) + i] } / std::sqrt(square + 1e-5);
                layer[i] += g * (double { x[r * at(n) + i] } - mean) / std::sqrt(variance + 1e-5);
            }
        }
        Floats got(at(n));
        normWeightGradient(false, 1e-5, dy.data(), x.data(), rows, n, got.data());
        VERIFY_NEAR(got, rms, 1e-6);
        Floats dw(at(n));
        normWeightGradient(true, 1e-5, dy.data(), x.data(), rows, n, dw.data());
        VERIFY_NEAR(dw, layer, 1e-6);
        // Two parts of the rows make partial sums.
        Floats parts(at(n));
        normWeightGradient(false, 1e-5, dy.data(), x.data(), 123, n, parts.data());
        normWeightGradient(false, 1e-5, dy.data() + 123 * n, x.data() + 123 * n, rows - 123, n, parts.data());
        VERIFY_NEAR(parts, rms, 1e-6);
    }

    void activations()
    {
        Floats x = randomFloats(300, 1, 0, 3);
        for (const float special : { 0.0f, -0.0f, 1e-8f, 8.0f, -8.0f, 30.0f, -30.0f })
            x.push_back(special);
        const Floats dy = randomFloats(static_cast<std::int64_t>(x.size()), 2);
        using bodies::Each;
        struct Case {
            Scalar answer;
            Each forward;
            Each backward;
        };
        for (const Case& c : { Case { silu, Each::Silu, Each::SiluGrad }, Case { gelu, Each::Gelu, Each::GeluGrad },
                               Case { geluTanh, Each::GeluTanh, Each::GeluTanhGrad } }) {
            Doubles value, slope;
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double at = double { x[i] };
                value.push_back(c.answer(at));
                slope.push_back(double { dy[i] } * (c.answer(at + 1e-5) - c.answer(at - 1e-5)) / 2e-5);
            }
            Floats out = x, dx = dy;
            each(c.forward, { &out }, 0, out);
            VERIFY_NEAR(out, value, 1e-6);
            each(c.backward, { &dx, &x }, 0, dx);
            VERIFY_NEAR(dx, slope, 1e-6);
            // Far out they are the line 0 or x, whatever the squares and cubes in between become.
            const Floats far { -1e15f, 1e15f, -1e5f, 1e5f }, ones(4, 1.0f);
            Floats line(4), one(4);
            each(c.forward, { &far }, 0, line);
            each(c.backward, { &ones, &far }, 0, one);
            for (const std::size_t i : { at(0), at(2) }) {
                QVERIFY(std::fabs(line[i]) < 1e-15f && std::fabs(one[i]) < 1e-15f);
                QCOMPARE(line[i + 1], far[i + 1]);
                QCOMPARE(one[i + 1], 1.0f);
            }
        }
    }

    /// Relative to the value, also far out on the left where it is small.
    void geluPointByPoint()
    {
        for (int i = -600; i <= 600; ++i) {
            Floats got { static_cast<float>(i) / 100 };
            const double x = double { got[0] };
            each(bodies::Each::Gelu, { &got }, 0, got);
            QVERIFY2(std::fabs(double { got[0] } - gelu(x)) <= 3e-6 * std::fabs(gelu(x)), std::to_string(x).c_str());
        }
    }

    void rotaryParts()
    {
        struct Case {
            RotaryPart part;
            std::int64_t position;
        };
        for (const auto& [part, position] : { Case { { 24, 16, 8 }, 5 }, Case { { 24, 0, 24 }, 3 }, Case { { 24, 0, 6 }, 11 } }) {
            const Floats x = randomFloats(24, 1), dy = randomFloats(24, 2);
            Floats cosines(at(part.count / 2)), sines(at(part.count / 2)), out(24), dx(24);
            ropeAngles(position, part.count, 100, cosines.data(), sines.data());
            ropePartRow(part, x.data(), cosines.data(), sines.data(), out.data());
            const auto rotate = [&](const Doubles& in) {
                Doubles y = in;
                for (std::int64_t i = 0; i < part.count / 2; ++i) {
                    const double angle = static_cast<double>(position)
                        / std::pow(100.0, 2.0 * static_cast<double>(i) / static_cast<double>(part.count));
                    const double a = in[at(part.first + i)], b = in[at(part.first + i + part.count / 2)];
                    y[at(part.first + i)] = a * std::cos(angle) - b * std::sin(angle);
                    y[at(part.first + i + part.count / 2)] = b * std::cos(angle) + a * std::sin(angle);
                }
                return y;
            };
            VERIFY_NEAR(out, rotate(doubles(x)), 1e-6);
            ropePartBackwardRow(part, dy.data(), cosines.data(), sines.data(), dx.data());
            const auto loss = [&](const Doubles& in) { return dot(rotate(in), doubles(dy)); };
            VERIFY_NEAR(dx, gradientOf(loss, doubles(x)), 1e-6);
        }
    }

    void embeddingRowsOfALocalRange()
    {
        const std::int64_t rows = 40, n = 5, vocabulary = 9;
        Floats tokens;
        for (std::int64_t r = 0; r < rows; ++r)
            tokens.push_back(static_cast<float>(r * r % 7)); // 3, 5 and 6, 7, 8 never come
        const Floats dy = randomFloats(rows * n, 1);
        const auto loss = [&](const Doubles& table) {
            double sum = 0;
            for (std::size_t r = 0; r < at(rows); ++r)
                for (std::size_t i = 0; i < at(n); ++i)
                    sum += table[static_cast<std::size_t>(tokens[r]) * at(n) + i] * double { dy[r * at(n) + i] };
            return sum;
        };
        const Doubles expected = gradientOf(loss, Doubles(at(vocabulary * n)));
        Floats got;
        for (const auto& [first, last] : std::vector<std::pair<std::int64_t, std::int64_t>> { { 0, 3 }, { 3, 3 }, { 3, 9 } }) {
            Floats part(at((last - first) * n), 0.25f);
            embeddingGradient(tokens.data(), dy.data(), rows, n, first, last, part.data());
            for (const float value : part)
                got.push_back(value - 0.25f);
        }
        VERIFY_NEAR(got, expected, 1e-6);
        QCOMPARE(got[at(8 * n)], 0.0f);
    }

    void sums()
    {
        const std::int64_t rows = 600, n = 1500;
        const Floats x = randomFloats(rows * n, 1, 0.3), y = randomFloats(rows * n, 2, 0.3);
        Doubles columns(at(n), 2.0), dots(at(rows));
        for (std::size_t r = 0; r < at(rows); ++r)
            for (std::size_t i = 0; i < at(n); ++i) {
                const double value = double { x[r * at(n) + i] };
                columns[i] += value;
                dots[r] += value * double { y[r * at(n) + i] };
            }
        Floats got(at(n), 2.0f), gotDots(at(rows));
        addColumnSums(x.data(), rows, n, got.data());
        VERIFY_NEAR(got, columns, 1e-6);
        rowDots(x.data(), y.data(), rows, n, gotDots.data());
        VERIFY_NEAR(gotDots, dots, 1e-6);
    }
};

SHARDBOARD_TEST(TestRowGradients)
#include "tst_rowgradients.moc"
