// SPDX-License-Identifier: Apache-2.0
// The solver against brute force: answers are feasible and cost what they say, optima are optima, bounds are bounds.
#include "model/solver/elimination.h"
#include "model/solver/solve.h"
#include "tests/model/solver/randomproblem.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"

#include <QtTest>

using namespace shardboard::solver;
using namespace shardboard::test;

class TestSolver : public QObject {
    Q_OBJECT
private:
    static ProblemKind kindOf(int number) { return { 8, 4, (number & 1) != 0, (number & 2) != 0, (number & 4) != 0 }; }
    static Options within(double seconds)
    {
        Options options;
        options.deadline =
            Options::Clock::now() + std::chrono::duration_cast<Options::Clock::duration>(std::chrono::duration<double>(seconds));
        return options;
    }

private Q_SLOTS:
    void evaluatesByDefinition()
    {
        Random random(3);
        for (int i = 0; i < 2000; ++i) {
            const Problem problem = randomProblem(random, kindOf(i));
            Assignment choice;
            for (std::size_t node = 0; node < problem.nodes(); ++node)
                choice.push_back(random.below(problem.strategies(node)));
            const Value value = evaluate(problem, choice);
            QVERIFY(value.cost == costByDefinition(problem, choice));
            QCOMPARE(!value.excess, keepsLimit(problem, choice));
        }
    }

    void smallProblemsAreExact()
    {
        Random random(1);
        int infeasible = 0;
        for (int i = 0; i < 10000; ++i) {
            const ProblemKind kind { 8, i % 10 == 0 ? 4 : 3, (i & 1) != 0, (i & 2) != 0, (i & 4) != 0 };
            const Problem problem = randomProblem(random, kind);
            const auto best = bruteForce(problem);
            const Solution solution = solve(problem, within(600)); // ends when it is proved
            QCOMPARE(!solution.infeasible, best.has_value());
            infeasible += !best;
            if (!best)
                continue;
            QVERIFY2(solution.cost == *best && solution.bound == *best && solution.optimal, qPrintable(QString::number(i)));
            QVERIFY(costByDefinition(problem, solution.assignment) == *best);
            QVERIFY(keepsLimit(problem, solution.assignment));
        }
        QVERIFY(infeasible > 100 && infeasible < 5000);
    }

    /// The same without looking at all assignments: what large problems go through.
    void searchFindsOptimaAndBoundsHold()
    {
        Random random(2);
        int found = 0;
        int cases = 0;
        for (int i = 0; i < 120; ++i) {
            const Problem problem = randomProblem(random, kindOf(i));
            const auto best = bruteForce(problem);
            if (!best)
                continue;
            Solution solution;
            for (const double seconds : { 0.1, 1.0, 10.0 }) { // the longer ones for machines that have other work
                Options options = within(seconds);
                options.enumerate = false;
                solution = solve(problem, options);
                if (solution.infeasible || solution.cost == *best)
                    break;
                if (cases - found > 5) // and for a search that finds less than it should, but not for all of it
                    break;
            }
            QVERIFY(!solution.infeasible);
            QVERIFY(costByDefinition(problem, solution.assignment) == solution.cost);
            QVERIFY(keepsLimit(problem, solution.assignment));
            QVERIFY2(solution.bound <= *best && *best <= solution.cost, qPrintable(QString::number(i)));
            if (solution.proof)
                QVERIFY(boundOf(problem, *solution.proof) == solution.bound);
            found += solution.cost == *best;
            ++cases;
        }
        qInfo("%d of %d optimal", found, cases);
        QVERIFY(10 * found >= 9 * cases);
    }

    /// Whatever somebody writes into a proof: it bounds, or it is none.
    void anyProofIsABound()
    {
        Random random(5);
        int bounds = 0;
        for (int i = 0; i < 3000; ++i) {
            const Problem problem = randomProblem(random, kindOf(i));
            const auto best = bruteForce(problem);
            Proof proof;
            if (problem.limit)
                for (std::int64_t time = 0; time < 16; ++time)
                    if (random.below(3) == 0)
                        proof.prices.push_back({ time, Wide { random.below(1 << 20) } << 22 });
            for (int node = 0; node < static_cast<int>(problem.nodes()); ++node)
                if (random.below(2) == 0)
                    proof.order.push_back(node);
            for (int a = 0; a < static_cast<int>(problem.nodes()); ++a)
                for (int b = a + 1; b < static_cast<int>(problem.nodes()); ++b) {
                    if (random.below(3) != 0)
                        continue;
                    const auto message = [&](int node) {
                        std::vector<Wide> out;
                        for (int s = 0; s < problem.strategies(static_cast<std::size_t>(node)); ++s)
                            out.push_back((Wide { random.below(1 << 20) } - (1 << 19)) << 26);
                        return out;
                    };
                    proof.messages.push_back({ a, b, message(a), message(b) });
                }
            const std::optional<Wide> bound = boundOf(problem, proof);
            bounds += bound.has_value();
            if (bound && best)
                QVERIFY2(*bound <= *best, qPrintable(QString::number(i)));
            if (problem.limit) {
                proof.prices = { { 0, -1 } };
                QVERIFY(!boundOf(problem, proof));
            }
        }
        QVERIFY(bounds > 300);
    }

    void eliminationIsOptimal()
    {
        Random random(7);
        for (int i = 0; i < 1000; ++i) {
            ProblemKind kind = kindOf(i & 2);
            const Problem problem = randomProblem(random, kind);
            const Network network = simplify(problem);
            std::vector<int> nodes;
            for (int node = 0; node < network.nodes(); ++node)
                nodes.push_back(node);
            std::vector<int> choice(nodes.size(), 0);
            Elimination elimination(network, nodes, { 1e9, 24, i % 3 == 0 }, Elimination::Rest::Fixed, random);
            elimination.solve(network.cost, choice);
            QVERIFY(costByDefinition(problem, network.expand(choice)) == bruteForce(problem));
        }
    }

    /// A chain without a limit is eliminated as a whole: the bound is the optimum.
    void narrowProblemsAreProved()
    {
        Random random(11);
        Problem problem;
        for (int node = 0; node < 400; ++node) {
            for (int s = 0; s < 5; ++s) {
                problem.nodeCosts.push_back(random.below(1000));
                problem.usages.push_back(1);
            }
            problem.first.push_back(problem.nodeCosts.size());
            problem.lifetimes.push_back({ node, node + 3 });
            for (const int back : { 1, 2 })
                if (node >= back) {
                    problem.edges.push_back({ node - back, node, problem.edgeCosts.size() });
                    for (int i = 0; i < 25; ++i)
                        problem.edgeCosts.push_back(random.below(1000));
                }
        }
        const Solution solution = solve(problem, within(600));
        QVERIFY(solution.optimal);
        QVERIFY(solution.proof && boundOf(problem, *solution.proof) == solution.cost);
        QVERIFY(evaluate(problem, solution.assignment).cost == solution.cost);
    }

    /// Time and amount of what no assignment can keep.
    void infeasibleIsSaid()
    {
        Problem problem;
        problem.first = { 0, 2, 3 };
        problem.nodeCosts = { 1, 2, 3 };
        problem.usages = { 7, 5, 6 };
        problem.lifetimes = { { 0, 10 }, { 4, 8 } };
        problem.limit = 10;
        const Solution solution = solve(problem, within(1));
        QVERIFY(solution.infeasible.has_value());
        QCOMPARE(solution.infeasible->time, 4);
        QVERIFY(solution.infeasible->usage == 11 && solution.infeasible->limit == 10);
        problem.limit = 11;
        QVERIFY(!solve(problem, within(1)).infeasible);
    }

    void sumsPass64Bits()
    {
        Problem problem;
        for (int node = 0; node < 30; ++node) {
            problem.nodeCosts.push_back(std::numeric_limits<std::int64_t>::max());
            problem.nodeCosts.push_back(std::numeric_limits<std::int64_t>::max() - 1);
            problem.usages.insert(problem.usages.end(), 2, std::numeric_limits<std::int64_t>::max());
            problem.first.push_back(problem.nodeCosts.size());
            problem.lifetimes.push_back({ node, node + 1 });
        }
        problem.limit = std::numeric_limits<std::int64_t>::max();
        const Solution solution = solve(problem, within(1));
        QVERIFY(solution.cost == costByDefinition(problem, solution.assignment));
        QCOMPARE(QString::fromStdString(wideText(solution.cost)).size(), 21); // 30 times 2^63, about
        QVERIFY(solution.bound > Wide { 1 } << 64 && solution.bound <= solution.cost);
    }
};

SHARDBOARD_TEST(TestSolver)
#include "tst_solver.moc"
