// SPDX-License-Identifier: Apache-2.0
// The first step of Adam against the textbook formula in double.
#include "tests/engine/bodyruns.h"
#include "tests/support/runner.h"

#include <QTest>

using namespace shardboard::engine;
using namespace shardboard::engine::numeric;

class TestOptimizer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void adam()
    {
        const std::int64_t n = 5000;
        bodies::AdamBody body;
        body.newM = 0.2f;
        body.newV = 0.05f;
        body.correctV = static_cast<float>(1 / std::sqrt(0.05));
        body.epsilon = 1e-6f;
        body.rate = static_cast<float>(0.02 / 0.2);
        body.keepW = static_cast<float>(1 - 0.02 * 0.1);
        const Floats w = randomFloats(n, 1);
        Floats g = randomFloats(n, 2, 0.3);
        g[5] = 0;
        Doubles expected;
        for (std::size_t i = 0; i < at(n); ++i) {
            const double gradient = double { g[i] };
            const double mean = 0.2 * gradient / (1 - 0.8), square = 0.05 * gradient * gradient / (1 - 0.95);
            expected.push_back(double { w[i] } - 0.02 * (mean / (std::sqrt(square) + 1e-6) + 0.1 * double { w[i] }));
        }
        // Two devices that hold a part each, in place of the gradient.
        for (const auto& [first, last] : std::vector<std::pair<std::int64_t, std::int64_t>> { { 0, 20 }, { 20, n } }) {
            bodies::AdamBody::Entry entry;
            entry.weight = elements(w).from(first);
            entry.gradient = entry.out = elements(g).from(first);
            entry.count = last - first;
            runAll(body, entry, (entry.count + bodies::kTile - 1) / bodies::kTile);
        }
        VERIFY_NEAR(g, expected, 1e-6);
    }
};

SHARDBOARD_TEST(TestOptimizer)
#include "tst_optimizer.moc"
