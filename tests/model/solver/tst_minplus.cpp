// SPDX-License-Identifier: Apache-2.0
// Elimination against brute force: random networks of few nodes, with tables of one to three nodes, and things that cannot be.
#include "model/solver/minplus.h"
#include "model/solver/narrowed.h"
#include "tests/model/solver/randomproblem.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <cmath>
#include <set>

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
            if (i % 2 == 1)
                options.narrowFrom = 0;
            const LeastCost found = least(network, options);
            QCOMPARE(found.cost, wanted);
            QCOMPARE(found.bound, wanted);
            if (wanted < kNever)
                QCOMPARE(costOf(network, found.values), wanted);
            else
                QVERIFY(found.values.empty());
        }
    }

    /// What is left has an assignment of the least cost, the bound is none too high, and what was found costs what it says.
    void dropsNoValueOfTheBest()
    {
        Random random(23);
        std::size_t left = 0;
        std::size_t all = 0;
        for (int i = 0; i < 4000; ++i) {
            const CostNetwork network = randomNetwork(random);
            const double wanted = leastByDefinition(network);
            const Narrowed few = narrowed(network);
            QVERIFY(few.bound <= wanted * (1 + 1e-12) + 1e-9);
            if (!few.values.empty())
                QCOMPARE(costOf(network, few.values), few.cost);
            if (wanted == kNever)
                continue;
            const CostNetwork rest = few.of(network);
            QCOMPARE(leastByDefinition(rest), wanted);
            for (std::size_t n = 0; n < network.sizes.size(); ++n) {
                all += static_cast<std::size_t>(network.sizes[n]);
                left += few.kept[n].size();
            }
        }
        QVERIFY2(left * 10 < all * 8, qPrintable(QString::number(left) + " of " + QString::number(all)));
    }

    /// A chain is solved by narrowing alone: nothing but the best values is left (costs are drawn finely, so that no two are
    /// alike).
    void chainsNeedNoElimination()
    {
        Random random(7);
        for (int i = 0; i < 100; ++i) {
            CostNetwork network;
            network.sizes.assign(12, 30);
            for (int n = 0; n + 1 < 12; ++n) {
                CostNetwork::Factor factor { { n, n + 1 }, {} };
                for (int entry = 0; entry < 900; ++entry)
                    factor.costs.push_back(random.below(1000000));
                network.factors.push_back(std::move(factor));
            }
            const Narrowed few = narrowed(network);
            QCOMPARE(few.bound, few.cost);
            std::size_t left = 0;
            for (const std::vector<int>& kept : few.kept)
                left += kept.size();
            QVERIFY2(left <= 24, qPrintable(QString::number(left)));
            LeastOptions plain;
            plain.narrowFrom = static_cast<std::size_t>(-1);
            QCOMPARE(few.cost, least(network, plain).cost);
        }
    }

    /// With floors in place of costs the answer is that of the costs, and few of them are asked for.
    void pricesWhatMatters()
    {
        Random random(31);
        double asked = 0;
        double all = 0;
        for (int i = 0; i < 3000; ++i) {
            const CostNetwork network = randomNetwork(random);
            const double wanted = leastByDefinition(network);
            CostNetwork floors = network;
            for (CostNetwork::Factor& factor : floors.factors)
                for (double& cost : factor.costs)
                    if (factor.nodes.size() == 2)
                        cost = cost < kNever ? cost * (0.3 + random.below(8) / 10.0) : random.below(3) == 0 ? 500 : kNever;
            std::set<std::pair<std::size_t, std::size_t>> seen;
            floors.exact = [&](std::size_t factor, std::size_t place) {
                seen.emplace(factor, place);
                return network.factors[factor].costs[place];
            };
            const LeastCost found = least(floors);
            QCOMPARE(found.cost, wanted);
            QCOMPARE(found.bound, wanted);
            if (wanted < kNever)
                QCOMPARE(costOf(network, found.values), wanted);
            else
                QVERIFY(found.values.empty());
            asked += static_cast<double>(seen.size());
            for (const CostNetwork::Factor& factor : network.factors)
                all += static_cast<double>(factor.costs.size());
        }
        QVERIFY2(asked < all * 0.7, qPrintable(QStringLiteral("%1 of %2").arg(asked).arg(all)));
    }

    /// Prices may take long: once it is cancelled the round is ended, in which a table's entry is asked for once and what the round
    /// finds twice, and what is left is not eliminated.
    void pricesNothingMoreWhenItIsStopped()
    {
        Random random(37);
        std::atomic<bool> cancelled = false;
        LeastOptions options;
        options.cancelled = &cancelled;
        int stopped = 0;
        int found = 0;
        for (int i = 0; i < 600; ++i) {
            const CostNetwork network = randomNetwork(random);
            CostNetwork floors = network;
            for (CostNetwork::Factor& factor : floors.factors)
                for (double& cost : factor.costs)
                    if (factor.nodes.size() == 2 && cost < kNever)
                        cost *= 0.3 + random.below(8) / 10.0;
            const int most = 1 + random.below(8);
            int calls = 0;
            std::vector<std::size_t> later; // calls after the cancel, by factor
            floors.exact = [&](std::size_t factor, std::size_t place) {
                later[factor] += cancelled ? std::size_t { 1 } : 0;
                if (++calls == most)
                    cancelled = true;
                return network.factors[factor].costs[place];
            };
            const auto begin = [&] {
                cancelled = false;
                calls = 0;
                later.assign(network.factors.size(), 0);
            };
            begin();
            const Narrowed few = narrowed(floors, options);
            if (!cancelled)
                continue;
            ++stopped;
            for (std::size_t f = 0; f < later.size(); ++f) {
                const CostNetwork::Factor& factor = network.factors[f];
                const std::size_t once = factor.nodes.size() == 2 ? factor.costs.size() : 0;
                QVERIFY2(later[f] <= once + 2, qPrintable(QString::number(later[f])));
            }
            const int narrowing = calls;
            begin();
            const LeastCost best = least(floors, options);
            QCOMPARE(calls, narrowing);
            QVERIFY(best.bound <= leastByDefinition(network) * (1 + 1e-12) + 1e-9);
            QCOMPARE(best.values.empty(), few.values.empty());
            if (!best.values.empty()) {
                ++found;
                QCOMPARE(best.cost, costOf(network, best.values));
            }
        }
        QVERIFY2(stopped > 100 && found > 50, qPrintable(QStringLiteral("%1, of %2").arg(found).arg(stopped)));
    }

    void nothingIsBelowTheUpperBound()
    {
        Random random(3);
        for (int i = 0; i < 1000; ++i) {
            const CostNetwork network = randomNetwork(random);
            const double wanted = leastByDefinition(network);
            LeastOptions options;
            options.narrowFrom = 0;
            options.upper = random.below(3000);
            const LeastCost found = least(network, options);
            if (wanted < options.upper)
                QCOMPARE(found.cost, wanted);
            else
                QVERIFY(found.values.empty());
            QVERIFY(found.bound <= std::max(wanted, options.upper) * (1 + 1e-12));
            QVERIFY(found.bound >= std::min(wanted, options.upper) * (1 - 1e-12));
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
            options.narrowFrom = i % 2 == 0 ? 0 : options.narrowFrom;
            QVERIFY(least(network, options).bound <= leastByDefinition(network) * (1 + 1e-12) + 1e-9);
        }
    }
};

SHARDBOARD_TEST(TestMinPlus)
#include "tst_minplus.moc"
