// SPDX-License-Identifier: Apache-2.0
// Routing of a mixture of experts: gates by sorting in double, gradients by central differences, and the dense dispatch.
#include "engine/ops/kernels/dispatch.h"
#include "engine/ops/kernels/gates.h"
#include "tests/engine/numeric.h"
#include "tests/support/runner.h"

#include <QTest>

#include <algorithm>
#include <numeric>

using namespace shardboard::engine;
using namespace shardboard::engine::numeric;

namespace {

/// Experts sorted by falling value; of equal ones the lower first.
std::vector<std::size_t> falling(const Doubles& values)
{
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t { 0 });
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    return order;
}

double sumOf(const Doubles& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

/// The gates of one row, as the papers write them.
Doubles gatesOf(const GateRule& rule, const Doubles& logits, const Doubles& bias)
{
    const std::size_t experts = logits.size(), k = at(rule.k);
    Doubles scores = logits, gates(experts);
    for (double& score : scores)
        score = rule.scoring == GateScoring::SigmoidThenTopK ? 1 / (1 + std::exp(-score)) : std::exp(score);
    const double total = sumOf(scores);
    if (rule.scoring != GateScoring::SigmoidThenTopK)
        for (double& score : scores)
            score /= total;
    Doubles choice = scores;
    for (std::size_t e = 0; e < bias.size(); ++e)
        choice[e] += bias[e];
    const std::size_t size = experts / at(rule.groups);
    Doubles groups;
    for (std::size_t g = 0; g < at(rule.groups); ++g) {
        Doubles members(choice.begin() + static_cast<std::ptrdiff_t>(g * size),
                        choice.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
        std::sort(members.begin(), members.end(), std::greater<>());
        groups.push_back(members[0] + (rule.scoring == GateScoring::SigmoidThenTopK && size > 1 ? members[1] : 0.0));
    }
    const auto groupOrder = falling(groups);
    for (std::size_t i = at(rule.groupsKept); i < groups.size(); ++i)
        for (std::size_t e = 0; e < size; ++e)
            choice[groupOrder[i] * size + e] = -1e300;
    const auto order = falling(choice);
    double chosen = 0;
    for (std::size_t i = 0; i < k; ++i)
        chosen += scores[order[i]];
    const bool divide = rule.renormalise || rule.scoring == GateScoring::TopKThenSoftmax;
    for (std::size_t i = 0; i < k; ++i)
        gates[order[i]] = rule.scale * scores[order[i]] / (divide ? chosen : 1.0);
    return gates;
}

struct NamedRule {
    const char* name;
    GateRule rule;
    bool biased;
};

const NamedRule kRules[] = {
    { "mixtral", { GateScoring::SoftmaxThenTopK, 8, 2, true, 1, 1, 1 }, false },
    { "deepseek v2", { GateScoring::SoftmaxThenTopK, 12, 3, false, 16, 4, 2 }, false },
    { "gpt-oss", { GateScoring::TopKThenSoftmax, 8, 4, false, 1, 1, 1 }, false },
    { "deepseek v3", { GateScoring::SigmoidThenTopK, 12, 4, true, 2.5, 3, 2 }, true },
    { "sigmoid alone", { GateScoring::SigmoidThenTopK, 6, 1, false, 1, 1, 1 }, false },
    { "all experts", { GateScoring::SoftmaxThenTopK, 4, 4, true, 1, 1, 1 }, false },
};

/// The dense form in double: experts' outputs are out[e] = x * (e + 1) where the gate is not 0.
Doubles dispatched(const Doubles& x, const Floats& gates, std::size_t experts, std::size_t rows, std::size_t n)
{
    Doubles out(experts * rows * n);
    for (std::size_t e = 0; e < experts; ++e)
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t i = 0; i < n; ++i)
                out[(e * rows + r) * n + i] = gates[r * experts + e] != 0 ? x[r * n + i] : 0.0;
    return out;
}
Doubles combined(const Doubles& out, const Doubles& gates, std::size_t experts, std::size_t rows, std::size_t n)
{
    Doubles y(rows * n);
    for (std::size_t e = 0; e < experts; ++e)
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t i = 0; i < n; ++i)
                y[r * n + i] += gates[r * experts + e] * out[(e * rows + r) * n + i];
    return y;
}

} // namespace

class TestExperts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void gates()
    {
        for (const auto& [name, rule, biased] : kRules) {
            const std::int64_t rows = 9, experts = rule.experts;
            const Floats logits = randomFloats(rows * experts, 1, 0, 1.5);
            const Floats bias = biased ? randomFloats(experts, 2, 0, 0.3) : Floats();
            const Floats dGates = randomFloats(rows * experts, 3);
            Floats got(logits.size(), 9.0f), dLogits(logits.size(), 9.0f);
            topKGates(rule, logits.data(), biased ? bias.data() : nullptr, rows, got.data());
            topKGatesBackward(rule, logits.data(), biased ? bias.data() : nullptr, dGates.data(), rows, dLogits.data());
            Doubles expected, slopes;
            for (std::int64_t r = 0; r < rows; ++r) {
                const Doubles row(logits.begin() + r * experts, logits.begin() + (r + 1) * experts);
                const Doubles dRow(dGates.begin() + r * experts, dGates.begin() + (r + 1) * experts);
                const Doubles gate = gatesOf(rule, row, doubles(bias));
                expected.insert(expected.end(), gate.begin(), gate.end());
                const auto loss = [&](const Doubles& at) { return dot(gatesOf(rule, at, doubles(bias)), dRow); };
                const Doubles slope = gradientOf(loss, row, 1e-6);
                slopes.insert(slopes.end(), slope.begin(), slope.end());
                // The chosen are those with a gate.
                std::vector<std::int64_t> chosen;
                for (std::int64_t e = 0; e < experts; ++e)
                    if (gate[at(e)] != 0)
                        chosen.push_back(e);
                QCOMPARE(static_cast<std::int64_t>(chosen.size()), rule.k);
                QCOMPARE(chosenExperts(rule, logits.data() + r * experts, biased ? bias.data() : nullptr), chosen);
            }
            for (std::size_t i = 0; i < got.size(); ++i)
                QVERIFY2((got[i] == 0) == (expected[i] == 0), name);
            const double error = errorOf(got, expected), slopeError = errorOf(dLogits, slopes);
            QVERIFY2(error < 1e-6, name);
            QVERIFY2(slopeError < 1e-6, name);
        }
    }

    void theBiasChoosesButDoesNotWeigh()
    {
        const GateRule rule { GateScoring::SigmoidThenTopK, 3, 1, false, 1, 1, 1 };
        const Floats logits { 2, 1, 0 }, bias { 0, 0, 5 };
        Floats gates(3);
        topKGates(rule, logits.data(), bias.data(), 1, gates.data());
        QCOMPARE(gates, (Floats { 0, 0, 0.5f }));
    }

    void tiesGoToTheLowerExpert()
    {
        const Floats logits { 1, 3, 3, 3, 1, 3 };
        for (const GateScoring scoring :
             { GateScoring::SoftmaxThenTopK, GateScoring::TopKThenSoftmax, GateScoring::SigmoidThenTopK }) {
            GateRule rule { scoring, 6, 2, true, 1, 1, 1 };
            QCOMPARE(chosenExperts(rule, logits.data(), nullptr), (std::vector<std::int64_t> { 1, 2 }));
            rule.groups = 3; // 1 3 | 3 3 | 1 3
            QCOMPARE(chosenExperts(rule, logits.data(), nullptr),
                     scoring == GateScoring::SigmoidThenTopK ? (std::vector<std::int64_t> { 2, 3 })
                                                             : (std::vector<std::int64_t> { 0, 1 }));
        }
    }

    void dispatchAndCombine()
    {
        const std::size_t experts = 4, rows = 5, n = 19;
        Floats gates = randomFloats(static_cast<std::int64_t>(experts * rows), 1);
        for (const std::size_t none : { 0u, 3u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 14u }) // the third token goes nowhere
            gates[none] = 0;
        const Floats x = randomFloats(static_cast<std::int64_t>(rows * n), 2);
        const Floats dOut = randomFloats(static_cast<std::int64_t>(experts * rows * n), 3);
        Floats out = randomFloats(static_cast<std::int64_t>(experts * rows * n), 4);
        const Floats dy = randomFloats(static_cast<std::int64_t>(rows * n), 5);
        const Doubles expectedOut = dispatched(doubles(x), gates, experts, rows, n);
        const Doubles ofX =
            gradientOf([&](const Doubles& v) { return dot(dispatched(v, gates, experts, rows, n), doubles(dOut)); }, doubles(x));
        const Doubles expectedY = combined(doubles(out), doubles(gates), experts, rows, n);
        const Doubles ofOut = gradientOf(
            [&](const Doubles& v) { return dot(combined(v, doubles(gates), experts, rows, n), doubles(dy)); }, doubles(out));
        Doubles ofGates = gradientOf(
            [&](const Doubles& v) { return dot(combined(doubles(out), v, experts, rows, n), doubles(dy)); }, doubles(gates));
        for (std::size_t i = 0; i < gates.size(); ++i)
            if (gates[i] == 0) {
                ofGates[i] = 0; // not chosen: no slope
                // What an expert left at a token it did not get is not read.
                std::fill_n(out.begin() + static_cast<std::ptrdiff_t>((i % experts * rows + i / experts) * n), n, std::nanf(""));
            }
        // On one device, and on two with two experts each, whose sums are partial.
        for (const std::size_t held : { experts, experts / 2 }) {
            Floats gotOut, dx(x.size()), y(x.size()), gotDOut, gotDGates(gates.size(), 9.0f);
            for (std::size_t first = 0; first < experts; first += held) {
                const DispatchSizes sizes { static_cast<std::int64_t>(held), static_cast<std::int64_t>(rows),
                                            static_cast<std::int64_t>(n), static_cast<std::int64_t>(experts) };
                const std::size_t offset = first * rows * n;
                Floats part(held * rows * n, 9.0f), sum(x.size(), 9.0f);
                dispatchRows(sizes, x.data(), gates.data() + first, part.data());
                gotOut.insert(gotOut.end(), part.begin(), part.end());
                dispatchBackwardRows(sizes, dOut.data() + offset, gates.data() + first, sum.data());
                for (std::size_t i = 0; i < sum.size(); ++i)
                    dx[i] += sum[i];
                combineRows(sizes, out.data() + offset, gates.data() + first, sum.data());
                for (std::size_t i = 0; i < sum.size(); ++i)
                    y[i] += sum[i];
                combineBackwardRows(sizes, dy.data(), gates.data() + first, part.data());
                gotDOut.insert(gotDOut.end(), part.begin(), part.end());
                combineGateGradient(sizes, dy.data(), out.data() + offset, gates.data() + first, gotDGates.data() + first);
            }
            VERIFY_NEAR(gotOut, expectedOut, 1e-7);
            VERIFY_NEAR(dx, ofX, 1e-6);
            VERIFY_NEAR(y, expectedY, 1e-6);
            VERIFY_NEAR(gotDOut, ofOut, 1e-6);
            VERIFY_NEAR(gotDGates, ofGates, 1e-6);
        }
    }

    void rowsThatAreNotZeroArePacked()
    {
        const Floats x { 0, 0, 0, 1, -0.0f, 0, std::nanf(""), 0, 5, 6 };
        const std::vector<std::int64_t> indices = nonZeroRows(x.data(), 5, 2);
        QCOMPARE(indices, (std::vector<std::int64_t> { 1, 3, 4 }));
        Floats packed(6), back(10, 9.0f);
        packRows(x.data(), indices, 2, packed.data());
        QCOMPARE(packed[1], 1.0f);
        QVERIFY(std::isnan(packed[2]));
        QCOMPARE(packed[5], 6.0f);
        packed[2] = 4;
        unpackRows(packed.data(), indices, 5, 2, back.data());
        QCOMPARE(back, (Floats { 0, 0, 0, 1, 0, 0, 4, 0, 5, 6 }));
        QVERIFY(nonZeroRows(x.data(), 1, 2).empty());
    }
};

SHARDBOARD_TEST(TestExperts)
#include "tst_experts.moc"
