// SPDX-License-Identifier: Apache-2.0
// Elimination against brute force: random networks of few nodes, with tables of one to three nodes, and things that cannot be.
#include "model/solver/minplus.h"
#include "tests/model/solver/randomproblem.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <cmath>

using namespace shardboard::minplus;
using shardboard::solver::Random;

namespace {

CostNetwork randomNetwork(Random& random)
{
    CostNetwork network;
    const int nodes = 1 + random.below(8);
    for (int i = 0; i < nodes; ++i)
        network.sizes.push_back(1 + random.below(4));
    const int factors = random.below(3 * nodes);
    for (int i = 0; i < factors; ++i) {
        CostNetwork::Factor factor;
        std::size_t entries = 1;
        for (int left = random.below(4); left > 0; --left)
            if (const int node = random.below(nodes); std::ranges::find(factor.nodes, node) == factor.nodes.end()) {
                factor.nodes.push_back(node);
                entries *= static_cast<std::size_t>(network.sizes[static_cast<std::size_t>(node)]);
            }
        for (std::size_t entry = 0; entry < entries; ++entry)
            factor.costs.push_back(random.below(7) == 0 ? kNever : random.below(1000));
        network.factors.push_back(std::move(factor));
    }
    return network;
}

/// Every assignment is looked at.
double leastByDefinition(const CostNetwork& network)
{
    std::vector<int> values(network.sizes.size(), 0);
    double best = kNever;
    for (;;) {
        best = std::min(best, costOf(network, values));
        std::size_t i = 0;
        while (i < values.size() && ++values[i] == network.sizes[i])
            values[i++] = 0;
        if (i == values.size())
            return best;
    }
}

} // namespace

class TestMinPlus : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void equalsBruteForce()
    {
        Random random(11);
        for (int i = 0; i < 4000; ++i) {
            const CostNetwork network = randomNetwork(random);
            const double wanted = leastByDefinition(network);
            LeastOptions options;
            if (i % 3 == 1)
                options.largestTable = 8; // most nodes are tried value by value
            const LeastCost found = least(network, options);
            QCOMPARE(found.cost, wanted);
            QCOMPARE(found.bound, wanted);
            if (wanted < kNever)
                QCOMPARE(costOf(network, found.values), wanted);
            else
                QVERIFY(found.values.empty());
        }
    }

    void boundsWhenItIsStopped()
    {
        Random random(5);
        for (int i = 0; i < 300; ++i) {
            const CostNetwork network = randomNetwork(random);
            LeastOptions options;
            options.largestTable = 4;
            options.deadline = std::chrono::steady_clock::now();
            QVERIFY(least(network, options).bound <= leastByDefinition(network));
        }
    }
};

SHARDBOARD_TEST(TestMinPlus)
#include "tst_minplus.moc"
