// SPDX-License-Identifier: Apache-2.0
// Norms, activations, rotary embedding, embedding and sums against plain loops in double and central differences.
#include "engine/ops/tables.h"
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

/// Sums over rows of dy, or with x of a norm's weight.
Floats rowSums(const Floats& dy, const Floats& x, const bodies::NormRule& rule)
{
    Floats out(at(rule.n), 9.0f);
    bodies::ColumnSumBody::Entry sum;
    sum.dy = elements(dy);
    sum.n = rule.n;
    sum.rows = static_cast<std::int64_t>(dy.size()) / rule.n;
    Floats partial(at(sum.parts() * rule.n)), scales(at(2 * sum.rows));
    sum.partial = partial.data();
    if (!x.empty()) {
        bodies::RowScaleBody body;
        body.rule = rule;
        bodies::RowScaleBody::Entry scale;
        scale.x = sum.x = elements(x);
        sum.scales = scale.scales = scales.data();
        scale.rows = sum.rows;
        runAll(body, scale, scale.rows);
    }
    bodies::ColumnSumBody sums;
    sums.sumsOfItem = bodies::kTile;
    runAll(sums, sum, tilesOf(sum.parts() * rule.n));
    bodies::ColumnTotalBody::Entry total;
    total.partial = partial.data();
    total.out = elements(out);
    total.parts = sum.parts();
    total.n = rule.n;
    runAll(bodies::ColumnTotalBody(), total, tilesOf(rule.n, bodies::kAll));
    return out;
}

/// What is rotated of every head of `width`: `count` elements from `first` on.
struct RotaryPart {
    std::int64_t width, first, count;
};

/// Heads of tokens from a position on.
Floats rotated(const RotaryPart& part, std::int64_t position, std::int64_t tokens, std::int64_t heads, const Floats& x, float way)
{
    Floats table(at(tokens * part.count)), out(x.size(), 9.0f);
    ropeAngles(position, tokens, part.count, 100, table.data());
    bodies::RopeBody body;
    body.angles = table.data();
    body.width = part.width;
    body.first = part.first;
    body.d = part.count;
    body.headsOfItem = 4;
    body.direction = way;
    bodies::RopeBody::Entry entry;
    entry.x = elements(x);
    entry.out = elements(out);
    entry.rows = static_cast<std::int64_t>(x.size()) / part.width;
    entry.tokens = tokens;
    entry.heads = heads;
    runAll(body, entry, tilesOf(entry.rows, body.headsOfItem));
    return out;
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

        const auto ofW = [&](const Doubles& at) { return dot(norm(c, doubles(x), at, doubles(b)), doubles(dy)); };
        VERIFY_NEAR(rowSums(dy, x, ruleOf(c)), gradientOf(ofW, doubles(w)), 2e-6);
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
        const NormCase c { at(rows), at(n), 1e-5, 0, false }, centred { at(rows), at(n), 1e-5, 0, true };
        VERIFY_NEAR(rowSums(dy, x, ruleOf(c)), rms, 1e-6);
        VERIFY_NEAR(rowSums(dy, x, ruleOf(centred)), layer, 1e-6);
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
        const std::int64_t batch = 2, tokens = 3, heads = 5;
        for (const auto& [part, position] :
             { Case { { 24, 16, 8 }, 5 }, Case { { 24, 0, 24 }, 3 }, Case { { 24, 0, 6 }, 11 }, Case { { 37, 1, 34 }, 2 } }) {
            const Floats x = randomFloats(batch * tokens * heads * part.width, 1);
            Doubles expected = doubles(x), back = doubles(x);
            for (std::int64_t row = 0; row < batch * tokens * heads; ++row)
                for (std::int64_t i = 0; i < part.count / 2; ++i) {
                    const double angle = static_cast<double>(position + row / heads % tokens)
                        / std::pow(100.0, 2.0 * static_cast<double>(i) / static_cast<double>(part.count));
                    const auto one = at(row * part.width + part.first + i), other = one + at(part.count / 2);
                    const double a = double { x[one] }, b = double { x[other] };
                    expected[one] = a * std::cos(angle) - b * std::sin(angle);
                    expected[other] = b * std::cos(angle) + a * std::sin(angle);
                    back[one] = a * std::cos(angle) + b * std::sin(angle);
                    back[other] = b * std::cos(angle) - a * std::sin(angle);
                }
            VERIFY_NEAR(rotated(part, position, tokens, heads, x, 1), expected, 1e-6);
            VERIFY_NEAR(rotated(part, position, tokens, heads, x, -1), back, 1e-6); // the gradient
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
            bodies::EmbeddingGradientBody body;
            body.zeroFirst = 1;
            bodies::EmbeddingGradientBody::Entry entry;
            entry.dy = elements(dy);
            entry.tokens = elements(tokens);
            entry.sums = part.data();
            entry.rows = rows;
            entry.n = n;
            entry.firstId = first;
            entry.ids = last - first;
            entry.idsOfItem = 2;
            entry.columnsOfItem = n;
            runAll(body, entry, entry.items());
            got.insert(got.end(), part.begin(), part.end());
        }
        VERIFY_NEAR(got, expected, 1e-6);
        QCOMPARE(got[at(8 * n)], 0.0f);
    }

    void sums()
    {
        const std::int64_t rows = 600, n = 1500;
        const Floats x = randomFloats(rows * n, 1, 0.3);
        Doubles columns(at(n));
        for (std::size_t r = 0; r < at(rows); ++r)
            for (std::size_t i = 0; i < at(n); ++i)
                columns[i] += double { x[r * at(n) + i] };
        bodies::NormRule rule;
        rule.n = n;
        VERIFY_NEAR(rowSums(x, {}, rule), columns, 1e-6);
    }
};

SHARDBOARD_TEST(TestRowGradients)
#include "tst_rowgradients.moc"
