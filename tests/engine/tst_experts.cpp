// SPDX-License-Identifier: Apache-2.0
// Routing of a mixture of experts: gates by sorting in double, gradients by central differences, and the rows of experts.
#include "engine/ops/kernels/packedrows.h"
#include "tests/engine/bodyruns.h"
#include "tests/support/runner.h"

#include <QTest>

#include <algorithm>
#include <numeric>

using namespace shardboard::engine;
using namespace shardboard::engine::numeric;

namespace {

struct GateRule {
    bool sigmoid = false;
    std::int64_t experts = 0;
    std::int64_t k = 0;
    bool renormalise = false;
    double scale = 1;
    std::int64_t groups = 1;
    std::int64_t groupsKept = 1;
};

/// As the CPU runs it, or, on `host`, as a GPU does. With dGates the gradient of the logits.
Floats routed(const GateRule& rule, const Floats& logits, const Floats& bias, const Floats& dGates = {}, bool host = false)
{
    bodies::GateBody body;
    body.experts = static_cast<std::int32_t>(rule.experts);
    body.k = static_cast<std::int32_t>(rule.k);
    body.groups = static_cast<std::int32_t>(rule.groups);
    body.groupsKept = static_cast<std::int32_t>(rule.groupsKept);
    body.sigmoid = rule.sigmoid ? 1 : 0;
    body.normalized = rule.renormalise ? 1 : 0;
    body.scale = rule.scale;
    Floats out(logits.size(), 9.0f);
    bodies::GateBody::Entry entry;
    entry.logits = elements(logits);
    if (!bias.empty())
        entry.bias = elements(bias);
    if (!dGates.empty())
        entry.dGates = elements(dGates);
    entry.out = elements(out);
    entry.rows = static_cast<std::int64_t>(logits.size()) / rule.experts;
    body.entries = &entry;
    for (std::int64_t row = 0; host && row < entry.rows; ++row)
        body(bodies::HostLanes(), row, 0);
    if (!host)
        runAll(body, entry, entry.rows);
    return out;
}

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
    { "odd", { false, 37, 5, false, 0.5, 1, 1 }, false },       { "one of each group", { true, 20, 2, true, 1, 20, 5 }, true },
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
            for (const bool host : { false, true }) {
                const Floats got = routed(rule, logits, bias, {}, host), dLogits = routed(rule, logits, bias, dGates, host);
                for (std::size_t i = 0; i < got.size(); ++i)
                    QVERIFY2((got[i] == 0) == (expected[i] == 0), name);
                const double error = errorOf(got, expected), slopeError = errorOf(dLogits, slopes);
                QVERIFY2(error < 1e-6, name);
                QVERIFY2(slopeError < 1e-6, name);
            }
        }
    }

    void manyExperts()
    {
        for (const auto& [experts, k, groups] : std::vector<std::array<std::int64_t, 3>> {
                 { 4096, 32, 1 }, { 3000, 1, 1 }, { 2048, 2048, 1 }, { 1500, 40, 1 }, { 1200, 40, 100 } }) {
            const GateRule rule { groups > 1, experts, k, true, 1, groups, groups > 1 ? 70 : 1 };
            Floats logits = randomFloats(2 * experts, 1, 0, 0.5);
            for (float& logit : logits)
                logit = std::round(logit * 8) / 8; // many ties
            Doubles expected;
            for (const std::int64_t row : { std::int64_t { 0 }, experts }) {
                const Doubles gates = gatesOf(rule, Doubles(logits.begin() + row, logits.begin() + row + experts), {});
                expected.insert(expected.end(), gates.begin(), gates.end());
            }
            for (const bool host : { false, true }) {
                if (host && groups > bodies::kMostGroups)
                    continue;
                const Floats got = routed(rule, logits, {}, {}, host);
                for (std::size_t i = 0; i < got.size(); ++i)
                    QCOMPARE(got[i] == 0, expected[i] == 0);
                QVERIFY(errorOf(got, expected) < 1e-6);
            }
        }
    }

    void whatIsNotANumberShows()
    {
        for (const bool host : { false, true })
            for (const bool sigmoid : { false, true })
                for (const std::size_t where : { 0u, 3u, 5u }) {
                    const GateRule rule { sigmoid, 6, 2, true, 1, 1, 1 };
                    Floats logits { 1, 2, 3, 4, 5, 6 };
                    logits[where] = std::nanf("");
                    for (const Floats& out :
                         { routed(rule, logits, {}, {}, host), routed(rule, logits, {}, Floats(6, 1.0f), host) })
                        QVERIFY(std::any_of(out.begin(), out.end(), [](float value) { return std::isnan(value); }));
                }
    }

    void theBiasChoosesButDoesNotWeigh()
    {
        const GateRule rule { true, 3, 1, false, 1, 1, 1 };
        const Floats logits { 2, 1, 0 }, bias { 0, 0, 5 };
        QCOMPARE(routed(rule, logits, bias), (Floats { 0, 0, 0.5f }));
    }

    void tiesGoToTheLowerExpert()
    {
        const Floats logits { 1, 3, 3, 3, 1, 3 };
        const auto chosen = [&](const GateRule& rule) {
            const Floats gates = routed(rule, logits, {});
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
        const auto shared = [&](bodies::Route kind, const Floats& in, const Floats& ofDevice, std::size_t held, Floats& out) {
            bodies::RouteBody body;
            body.kind = kind;
            bodies::RouteBody::Entry entry;
            entry.x = elements(in);
            entry.gates = elements(ofDevice);
            entry.out = elements(out);
            entry.experts = static_cast<std::int64_t>(held);
            entry.rows = static_cast<std::int64_t>(rows);
            entry.n = static_cast<std::int64_t>(n);
            entry.count = static_cast<std::int64_t>(out.size());
            runAll(body, entry, 1);
        };
        // On one device, and on two with two experts each.
        for (const std::size_t held : { experts, experts / 2 })
            for (std::size_t first = 0; first < experts; first += held) {
                Floats ofDevice; // their gates
                for (std::size_t r = 0; r < rows; ++r)
                    ofDevice.insert(ofDevice.end(), gates.begin() + static_cast<std::ptrdiff_t>(r * experts + first),
                                    gates.begin() + static_cast<std::ptrdiff_t>(r * experts + first + held));
                Floats out(held * rows * n, 9.0f), scaled(held * rows * n, 9.0f);
                shared(bodies::Route::Dispatch, x, ofDevice, held, out);
                shared(bodies::Route::CombineGradient, x, ofDevice, held, scaled);
                const Floats ofExperts = randomFloats(static_cast<std::int64_t>(held * rows * n), 3);
                Floats combined(rows * n, 9.0f), back(rows * n, 9.0f);
                shared(bodies::Route::Combine, ofExperts, ofDevice, held, combined);
                shared(bodies::Route::DispatchGradient, ofExperts, ofDevice, held, back);
                for (std::size_t r = 0; r < rows; ++r)
                    for (std::size_t i = 0; i < n; ++i) {
                        double weighted = 0, sum = 0;
                        for (std::size_t e = 0; e < held; ++e)
                            if (const double gate = double { gates[r * experts + first + e] }; gate != 0) {
                                weighted += gate * double { ofExperts[(e * rows + r) * n + i] };
                                sum += double { ofExperts[(e * rows + r) * n + i] };
                            }
                        QVERIFY(std::fabs(double { combined[r * n + i] } - weighted) < 1e-6);
                        QVERIFY(std::fabs(double { back[r * n + i] } - sum) < 1e-6);
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
