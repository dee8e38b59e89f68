// SPDX-License-Identifier: Apache-2.0
// Two designs side by side: only what differs is told, figures are those of the plans, verdicts say what is better.
#include "model/design/compare.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/documents/comparejson.h"
#include "model/text/contains.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <nlohmann/json.hpp>

#include <QTest>

using namespace shardboard;

namespace {

Design smallDesign(const char* mesh = "data=2,model=4", const char* preset = "megatron-tp")
{
    return designOn(mesh, llama3Model(), { WorkloadKind::Prefill, 8, 2048, DType::BF16 }, preset);
}

DesignComparison compared(const Design& before, const Design& after)
{
    return compareDesigns(before, *evaluate(before).value(), after, *evaluate(after).value());
}

const DesignDifference* changeOf(const DesignComparison& comparison, const std::string& name)
{
    for (const DesignDifference& change : comparison.changes)
        if (contains(change.names, name))
            return &change;
    return nullptr;
}

} // namespace

class TestCompare : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aDesignWithItself()
    {
        const Design design = smallDesign();
        const DesignComparison comparison = compared(design, design);
        QVERIFY(comparison.same());
        for (const CostLine& line : comparison.costs)
            QCOMPARE(line.verdict(), CostLine::Verdict::Same);
        for (const char* key : { "step_seconds", "memory_peak_bytes", "mfu", "tokens_per_second_per_device", "collective_bytes" })
            QVERIFY2(comparison.cost(key) != nullptr, key);
    }

    void everyFieldOfTheWorkloadIsTold()
    {
        Design before = smallDesign();
        before.workload.kind = WorkloadKind::Train;
        Design after = before;
        after.workload.batch = 16;
        after.workload.sequence = 1024;
        after.workload.dtype = DType::F32;
        after.workload.microBatches = 2;
        after.workload.recompute = Recompute::Full;
        after.workload.attention = AttentionKernel::Unfused;
        after.workload.overlap = Overlap::All;
        after.workload.optimizer = { { "data" }, true };
        after.workload.software = Software::Eager;
        const DesignComparison comparison = compared(before, after);
        const std::pair<const char*, std::pair<const char*, const char*>> expected[] = {
            { "batch", { "8", "16" } },           { "sequence", { "2,048", "1,024" } },
            { "dtype", { "bf16", "f32" } },       { "micro-batches", { "1", "2" } },
            { "recompute", { "none", "full" } },  { "attention", { "flash", "unfused" } },
            { "overlap", { "none", "all" } },     { "optimizer states", { "as the weights", "cut over data, gradients too" } },
            { "software", { "fused", "eager" } },
        };
        QCOMPARE(comparison.changes.size(), std::size(expected));
        for (const auto& [name, sides] : expected) {
            const DesignDifference* change = changeOf(comparison, name);
            QVERIFY2(change != nullptr, name);
            QCOMPARE(change->before, std::string(sides.first));
            QCOMPARE(change->after, std::string(sides.second));
            QCOMPARE(change->part, DesignDifference::Part::Workload);
        }
    }

    /// What waits for another kind of workload is in both files and in neither step.
    void settingsThatWaitAreNoDifference()
    {
        Design before = smallDesign();
        Design after = before;
        after.workload.microBatches = 2;
        after.workload.recompute = Recompute::Full;
        after.workload.optimizer = { { "data" }, true };
        QVERIFY(compared(before, after).changes.empty());
        after = before;
        after.workload.logits = Logits::Last;
        QVERIFY(changeOf(compared(before, after), "logits"));
        before.workload.kind = after.workload.kind = WorkloadKind::Train;
        QVERIFY(compared(before, after).changes.empty());
    }

    void weightsThatChangedAlikeAreOneRow()
    {
        const Design before = smallDesign();
        Design after = before;
        for (StrategyEntry& entry : after.strategies)
            if (entry.match.find("gate_proj") != std::string::npos || entry.match.find("up_proj") != std::string::npos)
                entry.strategy = { .kind = StrategyKind::Replicate };
        const DesignComparison comparison = compared(before, after);
        const DesignDifference* change = changeOf(comparison, "mlp.gate_proj");
        QVERIFY(change != nullptr);
        QCOMPARE(change, changeOf(comparison, "mlp.up_proj"));
        QCOMPARE(change->names.size(), std::size_t { 2 });
        QCOMPARE(change->before, std::string("P('model')"));
        QVERIFY(changeOf(comparison, "mlp.down_proj") == nullptr);
        QCOMPARE(comparison.changes.size(), std::size_t { 1 });
    }

    void figuresAreThoseOfThePlans()
    {
        const Design before = smallDesign();
        const Design after = smallDesign("data=2,model=4", "replicate");
        const auto old = evaluate(before).value();
        const auto now = evaluate(after).value();
        const DesignComparison comparison = compareDesigns(before, *old, after, *now);
        const auto check = [&](const char* key, double was, double is, CostLine::Verdict verdict) {
            const CostLine* line = comparison.cost(key);
            QVERIFY2(line != nullptr, key);
            QCOMPARE(line->before, was);
            QCOMPARE(line->after, is);
            QCOMPARE(line->verdict(), verdict);
        };
        check("memory_peak_bytes", static_cast<double>(old->plan.memory.peak), static_cast<double>(now->plan.memory.peak),
              CostLine::Verdict::Worse);
        check("memory/weights", static_cast<double>(old->plan.memory.weights), static_cast<double>(now->plan.memory.weights),
              CostLine::Verdict::Worse);
        check("step_seconds", old->plan.seconds(), now->plan.seconds(), CostLine::Verdict::Worse);
        check("mfu", old->plan.performance.mfu, now->plan.performance.mfu, CostLine::Verdict::Worse);
        // Less is moved where everything is everywhere.
        check("collective_bytes", static_cast<double>(old->plan.collectiveBytes()),
              static_cast<double>(now->plan.collectiveBytes()), CostLine::Verdict::Better);
        // Parts of the collectives add up to all of them.
        double parts = 0;
        for (const CostLine& line : comparison.costs)
            if (line.key.starts_with("collectives/"))
                parts += line.before;
        QVERIFY(std::abs(parts - old->plan.collectiveSeconds) < 1e-9 * old->plan.collectiveSeconds);
    }

    /// What was compared has to be said where it is not the same work.
    void otherWorkIsNoted()
    {
        const Design prefill = smallDesign();
        QVERIFY(compared(prefill, prefill).notes.empty());
        Design train = prefill;
        train.workload.kind = WorkloadKind::Train;
        const DesignComparison kinds = compared(prefill, train);
        QCOMPARE(kinds.notes.size(), std::size_t { 1 });
        QCOMPARE(kinds.notes.front(),
                 std::string("the two designs do different work: a prefill of 8 sequences of 2,048 tokens before, a "
                             "training step of 8 sequences of 2,048 tokens after; times and memory do not compare"));
        QVERIFY(comparisonToJson(kinds)["notes"] == nlohmann::json::array({ kinds.notes.front() }));
        Design more = prefill;
        more.workload.batch = 16;
        QVERIFY(compared(prefill, more).notes.at(0).find("compare tok/s/device and MFU, not the step") != std::string::npos);
        Design smaller = prefill;
        smaller.model.name = "half";
        smaller.model.layers = 16;
        QVERIFY(compared(prefill, smaller)
                    .notes.at(0)
                    .starts_with("the two designs have different models: dense, 8,030,261,248 parameters, before, half, "));
    }

    void swappedSidesSwapTheVerdict()
    {
        const Design a = smallDesign();
        const Design b = smallDesign("data=2,model=4", "replicate");
        const DesignComparison there = compared(a, b);
        const DesignComparison back = compared(b, a);
        QCOMPARE(there.costs.size(), back.costs.size());
        for (const CostLine& line : there.costs) {
            const CostLine* other = back.cost(line.key);
            QVERIFY(other != nullptr);
            QCOMPARE(other->before, line.after);
            QCOMPARE(other->difference(), -line.difference());
            using V = CostLine::Verdict;
            QCOMPARE(other->verdict(),
                     line.verdict() == V::Better      ? V::Worse
                         : line.verdict() == V::Worse ? V::Better
                                                      : line.verdict());
        }
    }

    void pinsMeshHardwareAndPicker()
    {
        Design before = smallDesign();
        before.pins = { parsePin("*:batch=data").value() };
        Design after = smallDesign("data=4,model=2");
        after.pins = { parsePin("residual:sequence=model").value() };
        after.hardware = "dgx-a100";
        after.picker.profile = PickerProfile::G1;
        const DesignComparison comparison = compared(before, after);
        QCOMPARE(changeOf(comparison, "mesh")->before, std::string("data=2,model=4"));
        QCOMPARE(changeOf(comparison, "mesh")->after, std::string("data=4,model=2"));
        QCOMPARE(changeOf(comparison, "hardware")->after, std::string("dgx-a100"));
        QCOMPARE(changeOf(comparison, "picker")->after, std::string("G1"));
        std::vector<std::pair<std::string, std::string>> pins;
        for (const DesignDifference& change : comparison.changes)
            if (change.part == DesignDifference::Part::Pin)
                pins.emplace_back(change.before, change.after);
        const std::vector<std::pair<std::string, std::string>> expected { { "*:batch=data", "" },
                                                                          { "", "residual:sequence=model" } };
        QCOMPARE(pins, expected);
    }

    void textsOfValues()
    {
        using U = CostLine::Unit;
        QCOMPARE(costText(U::Seconds, 0.0124), std::string("12.4 ms"));
        QCOMPARE(costText(U::Bytes, 1.5 * 1024 * 1024 * 1024), std::string("1.5 GiB"));
        QCOMPARE(costText(U::Share, 0.386), std::string("38.6 %"));
        QCOMPARE(costText(U::Rate, 5762.4), std::string("5,762"));
        QCOMPARE(costDifferenceText(U::Seconds, -0.0124), std::string("-12.4 ms"));
        QCOMPARE(costDifferenceText(U::Share, 0.02), std::string("+2 points"));
        QCOMPARE(changeText(-0.092), std::string("-9.2 %"));
        QCOMPARE(changeText(0.0001), std::string());
        QCOMPARE(changeText(11.0), std::string("12.0 x"));
        QCOMPARE((CostLine { "k", "n", U::Bytes, CostLine::Better::Lower, 0, 5 }.change()), 0.0);
    }

    void document()
    {
        const nlohmann::json json = comparisonToJson(compared(smallDesign(), smallDesign("data=2,model=4", "replicate")));
        QCOMPARE(json["same"].get<bool>(), false);
        QVERIFY(!json["changes"].empty() && !json["costs"].empty());
        for (const auto& line : json["costs"])
            QVERIFY(line["before"].is_number() && line["after"].is_number() && line["verdict"].is_string());
    }
};

SHARDBOARD_TEST(TestCompare)
#include "tst_compare.moc"
