// SPDX-License-Identifier: Apache-2.0
// Optimizer steps against the textbook formulas in double, over several steps.
#include "engine/ops/kernels/optimizer.h"
#include "tests/engine/numeric.h"
#include "tests/support/runner.h"

#include <QTest>

using namespace shardboard::engine;
using namespace shardboard::engine::numeric;

class TestOptimizer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void adam()
    {
        const std::int64_t n = 53;
        const AdamSettings settings { 0.02, 0.8, 0.95, 1e-6, 0.1 };
        Floats w = randomFloats(n, 1), m(at(n)), v(at(n));
        Doubles ew = doubles(w), em(at(n)), ev(at(n));
        for (int step = 1; step <= 7; ++step) {
            Floats g = randomFloats(n, static_cast<unsigned>(step) + 10, 0.3);
            g[5] = 0;
            // Two devices that hold a part each.
            adamStep(settings, step, 0.5f, g.data(), 20, m.data(), v.data(), w.data());
            adamStep(settings, step, 0.5f, g.data() + 20, n - 20, m.data() + 20, v.data() + 20, w.data() + 20);
            for (std::size_t i = 0; i < at(n); ++i) {
                const double gradient = 0.5 * double { g[i] };
                em[i] = 0.8 * em[i] + 0.2 * gradient;
                ev[i] = 0.95 * ev[i] + 0.05 * gradient * gradient;
                const double mHat = em[i] / (1 - std::pow(0.8, step)), vHat = ev[i] / (1 - std::pow(0.95, step));
                ew[i] -= 0.02 * (mHat / (std::sqrt(vHat) + 1e-6) + 0.1 * ew[i]);
            }
            VERIFY_NEAR(w, ew, 1e-6);
            VERIFY_NEAR(m, em, 1e-6);
            VERIFY_NEAR(v, ev, 1e-6);
        }
        QCOMPARE(m[5], 0.0f);
    }

    /// In the first step every element moves by the rate against its gradient, whatever the gradient's size.
    void firstStepOfAdam()
    {
        const Floats g { 3, -1e-3f, 200 };
        Floats w { 1, 1, 1 }, m(3), v(3);
        adamStep({ 0.5, 0.9, 0.999, 1e-12, 0 }, 1, 1, g.data(), 3, m.data(), v.data(), w.data());
        VERIFY_NEAR(w, (Doubles { 0.5, 1.5, 0.5 }), 1e-5);
    }

    void sgd()
    {
        const std::int64_t n = 37;
        Floats w = randomFloats(n, 1), plain = w, momentum(at(n));
        Doubles ew = doubles(w), ePlain = ew, em(at(n));
        for (unsigned step = 1; step <= 5; ++step) {
            const Floats g = randomFloats(n, step + 10);
            sgdStep({ 0.1, 0.7, 0.01 }, 2, g.data(), n, momentum.data(), w.data());
            sgdStep({ 0.1, 0, 0 }, 1, g.data(), n, nullptr, plain.data());
            for (std::size_t i = 0; i < at(n); ++i) {
                em[i] = 0.7 * em[i] + 2 * double { g[i] };
                ew[i] -= 0.1 * (em[i] + 0.01 * ew[i]);
                ePlain[i] -= 0.1 * double { g[i] };
            }
            VERIFY_NEAR(w, ew, 1e-6);
            VERIFY_NEAR(plain, ePlain, 1e-6);
        }
    }
};

SHARDBOARD_TEST(TestOptimizer)
#include "tst_optimizer.moc"
