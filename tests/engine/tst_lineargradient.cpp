// SPDX-License-Identifier: Apache-2.0
// The gradients of a linear operation with each of the matrix products that this machine can build: loops in double, and
// central differences of y = x Wt.
#include "engine/ops/kernels/lineargradient.h"
#include "tests/engine/numeric.h"
#include "tests/support/runner.h"

#include <QTest>

using namespace shardboard::engine;
using namespace shardboard::engine::numeric;

namespace {

/// Sum of dy * (x wt), with x [rows, in] and w [out, in].
double loss(const LinearSizes& s, const Doubles& x, const Doubles& w, const Doubles& dy)
{
    double sum = 0;
    for (std::int64_t r = 0; r < s.rows; ++r)
        for (std::int64_t o = 0; o < s.out; ++o)
            for (std::int64_t i = 0; i < s.in; ++i)
                sum += dy[at(r * s.out + o)] * x[at(r * s.in + i)] * w[at(o * s.in + i)];
    return sum;
}

} // namespace

class TestLinearGradient : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        prepareGemmThread();
        if (const char* wanted = std::getenv("SHARDBOARD_EXPECTED_GEMM"))
            QVERIFY2(QByteArray(gemmName()).startsWith(wanted), gemmName());
    }

    void slopes()
    {
        for (const LinearSizes& s : { LinearSizes { 1, 1, 1 }, { 3, 5, 4 }, { 6, 2, 7 }, { 1, 6, 3 }, { 5, 1, 1 } }) {
            const Floats x = randomFloats(s.rows * s.in, 1), w = randomFloats(s.out * s.in, 2);
            const Floats dy = randomFloats(s.rows * s.out, 3);
            const Doubles ofX = gradientOf([&](const Doubles& v) { return loss(s, v, doubles(w), doubles(dy)); }, doubles(x));
            const Doubles ofW = gradientOf([&](const Doubles& v) { return loss(s, doubles(x), v, doubles(dy)); }, doubles(w));
            Floats dx(x.size(), std::nanf("")), dw(w.size(), std::nanf("")); // what is there is not read
            linearInputGradient(s, dy.data(), s.out, w.data(), false, dx.data());
            linearWeightGradient(s, dy.data(), s.out, x.data(), false, dw.data());
            VERIFY_NEAR(dx, ofX, 1e-6);
            VERIFY_NEAR(dw, ofW, 1e-6);
        }
    }

    /// Weight rows chunk by chunk, and rows of x chunk by chunk, add up to the whole.
    void chunksAddUp()
    {
        const LinearSizes whole { 130, 270, 140 };
        const Floats x = randomFloats(whole.rows * whole.in, 1), w = randomFloats(whole.out * whole.in, 2);
        const Floats dy = randomFloats(whole.rows * whole.out, 3);
        Doubles ofX(x.size()), ofW(w.size(), 0.5);
        for (std::int64_t r = 0; r < whole.rows; ++r)
            for (std::int64_t o = 0; o < whole.out; ++o)
                for (std::int64_t i = 0; i < whole.in; ++i) {
                    const double g = double { dy[at(r * whole.out + o)] };
                    ofX[at(r * whole.in + i)] += g * double { w[at(o * whole.in + i)] };
                    ofW[at(o * whole.in + i)] += g * double { x[at(r * whole.in + i)] };
                }
        Floats dx(x.size()), dw(w.size(), 0.5f);
        for (std::int64_t o = 0; o < whole.out; o += 60) {
            const LinearSizes part { whole.rows, whole.in, std::min<std::int64_t>(60, whole.out - o) };
            linearInputGradient(part, dy.data() + o, whole.out, w.data() + o * whole.in, o > 0, dx.data());
        }
        for (std::int64_t r = 0; r < whole.rows; r += 50)
            for (std::int64_t o = 0; o < whole.out; o += 60) {
                const LinearSizes part { std::min<std::int64_t>(50, whole.rows - r), whole.in,
                                         std::min<std::int64_t>(60, whole.out - o) };
                linearWeightGradient(part, dy.data() + r * whole.out + o, whole.out, x.data() + r * whole.in, true,
                                     dw.data() + o * whole.in);
            }
        VERIFY_NEAR(dx, ofX, 1e-6);
        VERIFY_NEAR(dw, ofW, 1e-6);
    }

    void emptyParts()
    {
        Floats one { 3.0f };
        linearInputGradient({ 1, 1, 0 }, nullptr, 0, nullptr, true, one.data());
        QCOMPARE(one[0], 3.0f);
        linearWeightGradient({ 0, 1, 1 }, nullptr, 1, nullptr, false, one.data());
        QCOMPARE(one[0], 0.0f);
        linearWeightGradient({ 4, 1, 0 }, nullptr, 0, one.data(), false, nullptr);
    }
};

SHARDBOARD_TEST(TestLinearGradient)
#include "tst_lineargradient.moc"
