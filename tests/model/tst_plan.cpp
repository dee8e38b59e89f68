// SPDX-License-Identifier: Apache-2.0
// Whole plans: which collectives stand where, with which bytes, and that the document says all of it.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/io/wire/planjson.h"
#include "model/picker/greedy.h"
#include "tests/support/datarow.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <nlohmann/json.hpp>

#include <QtTest>

using namespace shardboard;

namespace {

Design llama(const char* mesh, const char* preset, std::int64_t batch = 8)
{
    Workload workload;
    workload.batch = batch;
    return designOn(mesh, llama3Model(), workload, preset);
}

QStringList lines(const Evaluation& evaluation)
{
    QStringList out;
    for (const Collective& c : evaluation.plan.collectives) {
        QString axes;
        for (const int axis : c.axes)
            axes += (axes.isEmpty() ? "" : "+") + QString::fromStdString(evaluation.plan.mesh.axis(axis).name);
        out << QString("%1x %2 %3 %4 %5")
                   .arg(c.count)
                   .arg(QString::fromStdString(collectiveName(c.kind)), axes,
                        QString::fromStdString(evaluation.graph.tensor(c.tensor).name))
                   .arg(c.bytes);
    }
    return out;
}

} // namespace

class TestPlan : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// Megatron: one all-reduce after the attention output and one after the MLP, in every layer, and one of the embedding.
    void megatronHasTwoAllReducesALayer()
    {
        const auto evaluation = evaluated(llama("data=2,model=4", "megatron-tp"));
        const QString bytes = QString::number(4LL * 4096 * 4096 * 2);
        QCOMPARE(lines(*evaluation),
                 (QStringList { "1x all-reduce model embedding " + bytes, "32x all-reduce model attention out " + bytes,
                                "32x all-reduce model mlp out " + bytes }));
        QCOMPARE(evaluation->plan.segments.size(), std::size_t(3));
        QCOMPARE(evaluation->plan.segments[1].count, 32);
        const Collective& second = evaluation->plan.collectives[1];
        QCOMPARE(second.groupSize, 4);
        QCOMPARE(evaluation->graph.op(second.op).name, std::string("self_attn.residual"));
        QCOMPARE(second.reason,
                 std::string("self_attn.o_proj is cut over model on dim 1, in (heads x head dim): every device "
                             "holds partial sums, and self_attn.residual needs whole values"));
        QCOMPARE(second.cause, std::string("o_proj [dim 1 = model], partial sums"));
        QVERIFY(second.seconds > 0);
    }

    void profileG1GathersTheTable()
    {
        Design design = llama("data=2,model=4", "megatron-tp");
        design.picker.profile = PickerProfile::G1;
        const QStringList all = lines(*evaluated(design));
        QCOMPARE(all.first(), "1x all-gather model model.embed_tokens.weight " + QString::number(128256LL * 4096 * 2));
        QCOMPARE(all.size(), 3);
    }

    void otherPickersTakeWhatNeedsLittle()
    {
        Design design = llama("data=8", "replicate");
        for (const PickerProfile profile :
             { PickerProfile::Shardboard, PickerProfile::G0, PickerProfile::G1, PickerProfile::G2, PickerProfile::G3 })
            for (const PickerKind picker : { PickerKind::Greedy, PickerKind::PartialsOnly, PickerKind::None }) {
                design.picker.profile = profile;
                design.picker.picker = picker;
                design.picker.onReshard = OnReshard::Raise;
                QCOMPARE(lines(*evaluated(design)), QStringList());
            }
        Design megatron = llama("data=2,model=4", "megatron-tp");
        const QStringList reductions = lines(*evaluated(megatron));
        megatron.picker.picker = PickerKind::PartialsOnly;
        QCOMPARE(lines(*evaluated(megatron)), reductions);
        for (const PickerProfile profile : { PickerProfile::G0, PickerProfile::G1, PickerProfile::G2, PickerProfile::G3 }) {
            megatron.picker.profile = profile; // these have to gather the table
            const auto refused = evaluate(megatron);
            QVERIFY(!refused.ok());
            QVERIFY2(refused.error().text().find("embed_tokens.weight as P()") != std::string::npos,
                     refused.error().text().c_str());
            megatron.strategies.push_back({ "*embed_tokens.weight", {}, {} });
            QCOMPARE(lines(*evaluated(megatron)), reductions.mid(1));
            megatron.strategies.pop_back();
        }
    }

    /// Such a design opens: it is planned as if the picker took anything, and a finding says what it refuses.
    void noneRefusesPartialSums()
    {
        Design design = llama("data=2,model=4", "megatron-tp");
        const QStringList all = lines(*evaluated(design));
        design.picker.picker = PickerKind::None;
        const auto refused = evaluate(design);
        QVERIFY(!refused.ok());
        QVERIFY2(refused.error().text().find("picker none") != std::string::npos, refused.error().text().c_str());
        const auto opened = sure(evaluate(design, Misfits::Replicate));
        QCOMPARE(lines(*opened), all);
        QCOMPARE(std::ranges::count_if(opened->findings,
                                       [](const Finding& f) { return f.kind == "refused-pick" && f.severity == Severity::Error; }),
                 3);
    }

    void reshardsAreToldOrRefused()
    {
        Design design = llama("data=2,model=4", "megatron-tp");
        const auto count = [](const Evaluation& evaluation, Severity severity) {
            return std::ranges::count_if(evaluation.findings,
                                         [&](const Finding& f) { return f.kind == "reshard" && f.severity == severity; });
        };
        QCOMPARE(count(*evaluated(design), Severity::Note), 0);
        design.picker.onReshard = OnReshard::Warn;
        QCOMPARE(count(*evaluated(design), Severity::Note), 3);
        design.picker.onReshard = OnReshard::Raise;
        QCOMPARE(count(*evaluate(design, Misfits::Replicate).value(), Severity::Error), 3);
        const auto refused = evaluate(design);
        QVERIFY(!refused.ok());
        const std::string text = refused.error().text();
        QVERIFY2(text.find("moves embedding from") != std::string::npos
                     && text.find("all-reduce over model (and 2 more)") != std::string::npos,
                 text.c_str());
    }

    void budgetOfG0()
    {
        Design design = llama("data=8", "replicate");
        design.picker.profile = PickerProfile::G0;
        design.picker.setBudgetBytes(1000);
        const auto refused = evaluate(design);
        QVERIFY(!refused.ok());
        QVERIFY2(refused.error().text().find("exceeds the budget per device") != std::string::npos, refused.error().text().c_str());
        design.picker.setBudgetBytes(std::int64_t { 1 } << 40);
        QCOMPARE(lines(*evaluated(design)), QStringList());
        design.picker.setBudgetBytes(1000);
        design.picker.profile = PickerProfile::G1; // has none
        QCOMPARE(lines(*evaluated(design)), QStringList());
    }

    /// A whole weight meets an activation cut on its contraction dim: a slice, free in G1, a 64th of a message in G3.
    void slicesCostInG3()
    {
        Design design = llama("data=2,model=4", "megatron-tp");
        design.strategies.push_back({ "*.mlp.down_proj.weight", {}, {} });
        for (const auto& [profile, cost] :
             { std::pair { PickerProfile::G1, 0.0 }, std::pair { PickerProfile::G3, 4096.0 * 14336 * 2 / 4 / 64 } }) {
            design.picker.profile = profile;
            const auto evaluation = evaluated(design);
            const auto& ops = evaluation->plan.segments[1].ops;
            const auto down = std::find_if(
                ops.begin(), ops.end(), [&](const PlannedOp& op) { return evaluation->graph.op(op.op).name == "mlp.down_proj"; });
            QVERIFY(down != ops.end());
            std::vector<PickOperand> operands;
            for (const OperandUse& use : down->operands)
                operands.push_back(pickOperand(evaluation->graph.entry(use.tensor), use.before, evaluation->plan.mesh));
            const Op& op = evaluation->graph.op(down->op);
            const auto rows = judgeRows({ op.kind,
                                          operands,
                                          evaluation->graph.tensor(op.result).shape,
                                          evaluation->plan.mesh,
                                          design.picker,
                                          {},
                                          op.name });
            int seen = 0;
            for (const JudgedRow& row : rows.value())
                if (row.axis == 1 && row.picked) {
                    QCOMPARE(rowText(row.row), std::string("S2 S1 -> P"));
                    QCOMPARE(row.cost, cost);
                    ++seen;
                }
            QCOMPARE(seen, 1);
        }
    }

    void transitionsThatAreNotAllowed()
    {
        Design design = llama("data=2,model=4", "megatron-tp");
        design.strategies.push_back({ "*embed_tokens.weight", {}, {} });
        design.picker.profile = PickerProfile::G3;
        const QStringList reductions = lines(*evaluated(design));
        QVERIFY(std::ranges::all_of(reductions, [](const QString& line) { return line.contains("all-reduce"); }));
        design.picker.allowedTransitions = TransitionSet::all();
        const QStringList all = lines(*evaluated(design));
        QVERIFY(std::ranges::any_of(all, [](const QString& line) { return line.contains("reduce-scatter"); }));
        design.picker.allowedTransitions = TransitionSet();
        QVERIFY(!evaluate(design).ok());
    }

    void pinsAreOurs()
    {
        Design design = llama("data=2,model=4", "megatron-tp");
        design.pins.push_back({ "*", { { "batch", { "data" } } }, {}, {}, {}, {} });
        const auto told = [&](PickerProfile profile) {
            design.picker.profile = profile;
            const auto evaluation = evaluated(design);
            return std::ranges::any_of(evaluation->findings, [](const Finding& f) { return f.kind == "unknown-pins"; });
        };
        QVERIFY(told(PickerProfile::G1));
        QVERIFY(!told(PickerProfile::Shardboard));
    }

    void replicatedModelNeedsNothing() { QCOMPARE(lines(*evaluated(llama("data=8", "replicate"))), QStringList()); }

    void weightsPerDevice()
    {
        const auto evaluation = evaluated(llama("data=2,model=4", "megatron-tp"));
        const std::int64_t norms = (2 * 32 + 1) * 4096;
        QCOMPARE(evaluation->plan.memory.weights, ((8030261248 - norms) / 4 + norms) * 2);
        QCOMPARE(evaluated(llama("data=8", "replicate"))->plan.memory.weights, 8030261248 * 2);
    }

    /// The logits of 4 sequences, a fourth of the vocabulary, beside what the head reads: no reshard happens at that moment.
    void peakIsThatOfOneMoment()
    {
        const auto evaluation = evaluated(llama("data=2,model=4", "megatron-tp"));
        const MemoryByCause& memory = evaluation->plan.memory;
        QCOMPARE(memory.peakAt, std::string("head/lm_head"));
        QCOMPARE(memory.activations, 4LL * 4096 * 4096 * 2);
        QCOMPARE(memory.logits, 4LL * 4096 * (128256 / 4) * 2);
        QCOMPARE(memory.reshard, 0);
        QCOMPARE(memory.reserve, (memory.activations + memory.logits) / 20);
        QCOMPARE(memory.peak,
                 memory.weights + memory.kvCache + memory.activations + memory.logits + memory.reserve + memory.runtime);
    }

    void decodeKeepsItsCachePerDevice()
    {
        Design design = llama("data=2,model=4", "megatron-tp");
        design.workload = { WorkloadKind::Decode, 8, 1024, DType::BF16 };
        const auto evaluation = evaluated(design);
        QCOMPARE(evaluation->plan.memory.kvCache, 32LL * 2 * (8 / 2) * 1024 * (8 / 4) * 128 * 2);
        QCOMPARE(lines(*evaluation).size(), 3);
    }

    void headsThatDoNotDivideAreGathered()
    {
        Design design = llama("model=8", "megatron-tp");
        design.model.heads = 28;
        design.model.kvHeads = 4;
        design.strategies.push_back({ "*.q_proj.weight", { StrategyKind::Rowwise, { "model" }, 0, {} }, {} });
        const auto evaluation = evaluated(design);
        const auto& all = evaluation->plan.collectives;
        // Heads that lie on two devices move to one of them: nobody needs all of them.
        const auto queries = std::ranges::find_if(
            all, [](const Collective& c) { return c.reason.find("28 heads do not divide by 8") != std::string::npos; });
        QVERIFY(queries != all.end());
        QCOMPARE(queries->kind, CollectiveKind::AllToAll);
        QVERIFY(std::ranges::any_of(evaluation->findings, [](const Finding& f) { return f.kind == "heads-split"; }));
    }

    /// A layer with a strategy of its own becomes a segment of its own; nothing is lost on the way.
    void oneLayerCanDiffer()
    {
        Design design = llama("data=2,model=4", "megatron-tp");
        design.strategies.push_back({ "model.layers.3.mlp.down_proj.weight", {}, {} });
        const auto evaluation = evaluated(design);
        std::int64_t layers = 0;
        for (const PlannedSegment& segment : evaluation->plan.segments)
            layers += evaluation->graph.segment(segment.segment).isLayer ? segment.count : 0;
        QCOMPARE(layers, 32);
        QCOMPARE(evaluation->parameters, 8030261248);
        std::int64_t gathers = 0;
        std::int64_t reductions = 0;
        for (const Collective& c : evaluation->plan.collectives) {
            gathers += c.kind == CollectiveKind::AllGather ? c.count : 0;
            reductions += c.kind == CollectiveKind::AllReduce ? c.count : 0;
        }
        // Greedy prefers to slice the whole weight on the dim that fits, which is free: still two reductions.
        QCOMPARE(gathers, 0);
        QCOMPARE(reductions, 65);
    }

    void planningDoesNotGrowWithLayers()
    {
        Design design = llama("data=2,model=4", "megatron-tp");
        design.model.layers = 10000;
        const auto evaluation = evaluated(design);
        QCOMPARE(evaluation->plan.segments.size(), std::size_t(3));
        QCOMPARE(evaluation->plan.collectives[1].count, 10000);
    }

    void totalsAreSums()
    {
        const auto evaluation = evaluated(llama("data=2,model=4", "megatron-tp"));
        const Plan& plan = evaluation->plan;
        double seconds = 0;
        std::int64_t bytes = 0;
        for (const Collective& c : plan.collectives) {
            seconds += static_cast<double>(c.count) * c.seconds;
            bytes += c.count * c.bytes;
        }
        QCOMPARE(plan.collectiveSeconds, seconds);
        QCOMPARE(plan.collectiveBytes(), bytes);
    }

    void documentReadsBack_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        dataRow("megatron", "data=2,model=4", "megatron-tp");
        dataRow("three axes", "pod=2,data=2,model=2", "megatron-tp");
        dataRow("replicate", "data=4", "replicate");
    }
    void documentReadsBack()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        const auto evaluation = evaluated(llama(qPrintable(mesh), qPrintable(preset)));
        const auto document = planToJson(evaluation->graph, evaluation->plan);
        const auto program = sure(planFromJson(nlohmann::json::parse(document.dump())));
        QCOMPARE(planToJson(program.graph, program.plan)["operations"], document["operations"]);
        QCOMPARE(planToJson(program.graph, program.plan)["collectives"], document["collectives"]);
        QCOMPARE(document["totals"]["collective_bytes"].get<std::int64_t>(), evaluation->plan.collectiveBytes());
    }

    /// Whatever is broken in the document, the reader answers; it never throws.
    void brokenDocumentsAreRefused()
    {
        const auto evaluation = evaluated(llama("data=2,model=4", "megatron-tp"));
        const auto document = planToJson(evaluation->graph, evaluation->plan);
        for (const nlohmann::json& value : { nlohmann::json(nullptr), nlohmann::json(-1), nlohmann::json("x"),
                                             nlohmann::json::array(), nlohmann::json(1e300), nlohmann::json(UINT64_MAX) })
            for (const auto& [key, old] : document.items()) {
                nlohmann::json broken = document;
                broken[key] = value;
                (void)planFromJson(broken).ok();
                broken = document;
                if (old.is_array() && !old.empty())
                    for (const auto& [inner, unused] : old.front().items()) {
                        if (!old.front().is_object())
                            break;
                        broken[key][0][inner] = value;
                        (void)planFromJson(broken).ok();
                        broken = document;
                    }
            }
        nlohmann::json chain = document;
        chain["collectives"].erase(1);
        QVERIFY(!planFromJson(chain).ok());
        chain = document;
        chain["operations"][2]["operands"][0]["spec"] = "P('model')";
        QVERIFY(!planFromJson(chain).ok());
        QVERIFY(!planFromJson(nlohmann::json::array()).ok());
    }
};

SHARDBOARD_TEST(TestPlan)
#include "tst_plan.moc"
