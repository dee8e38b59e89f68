// SPDX-License-Identifier: Apache-2.0
// Routing of a mixture of experts: gates by sorting in double, gradients by central differences, and the rows of experts.
#include "engine/ops/kernels/gates.h"
#include "engine/ops/kernels/packedrows.h"
#include "tests/engine/bodyruns.h"
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
        score = rule.sigmoid ? 1 / (1 + std::exp(-score)) : std::exp(score);
    const double total = sumOf(scores);
    if (!rule.sigmoid)
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
        groups.push_back(members[0] + (rule.sigmoid && size > 1 ? members[1] : 0.0));
    }
    const auto groupOrder = falling(groups);
    for (std::size_t i = at(rule.groupsKept); i < groups.size(); ++i)
        for (std::size_t e = 0; e < size; ++e)
            choice[groupOrder[i] * size + e] = -1e300;
    const auto order = falling(choice);
    double chosen = 0;
    for (std::size_t i = 0; i < k; ++i)
        chosen += scores[order[i]];
    for (std::size_t i = 0; i < k; ++i)
        gates[order[i]] = rule.scale * scores[order[i]] / (rule.renormalise ? chosen : 1.0);
    return gates;
}

struct NamedRule {
    const char* name;
    GateRule rule;
    bool biased;
};

const NamedRule kRules[] = {
    { "mixtral", { false, 8, 2, true, 1, 1, 1 }, false },       { "deepseek v2", { false, 12, 3, false, 16, 4, 2 }, false },
    { "gpt-oss", { false, 8, 4, true, 1, 1, 1 }, false },       { "deepseek v3", { true, 12, 4, true, 2.5, 3, 2 }, true },
    { "sigmoid alone", { true, 6, 1, false, 1, 1, 1 }, false }, { "all experts", { false, 4, 4, true, 1, 1, 1 }, false },
};

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
        const GateRule rule { true, 3, 1, false, 1, 1, 1 };
        const Floats logits { 2, 1, 0 }, bias { 0, 0, 5 };
        Floats gates(3);
        topKGates(rule, logits.data(), bias.data(), 1, gates.data());
        QCOMPARE(gates, (Floats { 0, 0, 0.5f }));
    }

    void tiesGoToTheLowerExpert()
    {
        const Floats logits { 1, 3, 3, 3, 1, 3 };
        const auto chosen = [&](const GateRule& rule) {
            Floats gates(6);
            topKGates(rule, logits.data(), nullptr, 1, gates.data());
            std::vector<std::size_t> out;
            for (std::size_t e = 0; e < gates.size(); ++e)
                if (gates[e] != 0)
                    out.push_back(e);
            return out;
        };
        using Experts = std::vector<std::size_t>;
        for (const bool sigmoid : { false, true }) {
            GateRule rule { sigmoid, 6, 2, true, 1, 1, 1 };
            QCOMPARE(chosen(rule), (Experts { 1, 2 }));
            rule.groups = 3; // 1 3 | 3 3 | 1 3
            QCOMPARE(chosen(rule), sigmoid ? (Experts { 2, 3 }) : (Experts { 0, 1 }));
        }
    }

    void rowsGoToTheirExperts()
    {
        const std::size_t experts = 4, rows = 5, n = 19;
        Floats gates = randomFloats(static_cast<std::int64_t>(experts * rows), 1);
        for (const std::size_t none : { 0u, 3u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 14u }) // the third token goes nowhere
            gates[none] = 0;
        const Floats x = randomFloats(static_cast<std::int64_t>(rows * n), 2);
        // On one device, and on two with two experts each.
        for (const std::size_t held : { experts, experts / 2 })
            for (std::size_t first = 0; first < experts; first += held) {
                Floats ofDevice; // their gates
                for (std::size_t r = 0; r < rows; ++r)
                    ofDevice.insert(ofDevice.end(), gates.begin() + static_cast<std::ptrdiff_t>(r * experts + first),
                                    gates.begin() + static_cast<std::ptrdiff_t>(r * experts + first + held));
                Floats out(held * rows * n, 9.0f), scaled(held * rows * n, 9.0f);
                for (const bool gated : { false, true }) {
                    bodies::RouteBody body;
                    body.kind = gated ? bodies::Route::CombineGradient : bodies::Route::Dispatch;
                    bodies::RouteBody::Entry entry;
                    entry.x = elements(x);
                    entry.gates = elements(ofDevice);
                    entry.out = elements(gated ? scaled : out);
                    entry.experts = static_cast<std::int64_t>(held);
                    entry.rows = static_cast<std::int64_t>(rows);
                    entry.n = static_cast<std::int64_t>(n);
                    entry.count = static_cast<std::int64_t>(out.size());
                    runAll(body, entry, 1);
                }
                for (std::size_t e = 0; e < held; ++e)
                    for (std::size_t r = 0; r < rows; ++r)
                        for (std::size_t i = 0; i < n; ++i) {
                            const float gate = gates[r * experts + first + e];
                            QCOMPARE(out[(e * rows + r) * n + i], gate != 0 ? x[r * n + i] : 0.0f);
                            QCOMPARE(scaled[(e * rows + r) * n + i], gate * x[r * n + i]);
                        }
            }
    }

    void rowsThatAreNotZeroArePacked()
    {
        const Floats x { 0, 0, 0, 1, -0.0f, 0, std::nanf(""), 0, 5, 6 };
        const std::vector<std::int64_t> indices = nonZeroRows(x.data(), 5, 2);
        QCOMPARE(indices, (std::vector<std::int64_t> { 1, 3, 4 }));
        Floats packed(6);
        packRows(x.data(), indices, 2, packed.data());
        QCOMPARE(packed[1], 1.0f);
        QVERIFY(std::isnan(packed[2]));
        QCOMPARE(packed[5], 6.0f);
        QVERIFY(nonZeroRows(x.data(), 1, 2).empty());
    }
};

SHARDBOARD_TEST(TestExperts)
#include "tst_experts.moc"
