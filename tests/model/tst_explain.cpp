// SPDX-License-Identifier: Apache-2.0
// Explanations: causes from their root on, rows as the plan has them, pins that really lead to what they promise.
#include "model/design/evaluate/evaluate.h"
#include "model/design/explain/explain.h"
#include "model/design/explain/rankedrows.h"
#include "model/design/presets/presets.h"
#include "model/text/contains.h"
#include "tests/support/datarow.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace shardboard;

namespace {

/// 4 layers of 16 heads over 8 KV heads.
Design small(const char* mesh, const char* preset, WorkloadKind workload = WorkloadKind::Prefill)
{
    return designOn(mesh, denseModel(4096, 1024, 4096, 4, 16, 8, 64), { workload, 16, 2048, DType::BF16 }, preset);
}

struct Case {
    Design design;
    std::shared_ptr<const Evaluation> evaluation;
    explicit Case(Design it)
        : design(std::move(it))
        , evaluation(tolerant(design)) // also where a picker refuses
    {
    }
    Explanation explained(const std::string& what, int effects = 0) const
    {
        const auto targets = sure(explainTargets(*evaluation, what));
        return explain(design, *evaluation, targets.front(), { effects });
    }
    /// The first collective of a kind in a phase whose tensor has that name.
    std::string collective(CollectiveKind kind, const std::string& tensor, Phase phase = Phase::Forward) const
    {
        for (const Collective& it : evaluation->plan.collectives)
            if (it.kind == kind && evaluation->graph.tensor(it.tensor).name == tensor
                && evaluation->plan.segment(it.plannedSegment).phase == phase)
                return it.id;
        qFatal("no %s of %s", collectiveName(kind).c_str(), tensor.c_str());
    }
};

QStringList texts(const Explanation& explanation)
{
    QStringList out;
    for (const CauseLink& link : explanation.causes)
        out << QString::fromStdString(link.text);
    return out;
}

const RankedRow& rowNamed(const AxisExplanation& axis, const char* text)
{
    for (const RankedRow& row : axis.rows)
        if (row.row == text)
            return row;
    qFatal("no row %s", text);
}

std::string pickedRow(const std::vector<AxisExplanation>& axes, int axis)
{
    for (const AxisExplanation& it : axes)
        for (const RankedRow& row : it.rows)
            if (it.axis == axis && row.verdict == RankedRow::Verdict::Picked)
                return row.row;
    return {};
}

} // namespace

Q_DECLARE_METATYPE(shardboard::PickerOptions)

class TestExplain : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void megatronAllReduce()
    {
        const Case it(small("data=2,model=4", "megatron-tp"));
        const Explanation why = it.explained(it.collective(CollectiveKind::AllReduce, "attention out"));
        QCOMPARE(
            texts(why),
            (QStringList {
                "model.layers.*.self_attn.o_proj.weight is cut on dim 1 (in (heads x head dim)) over model",
                "self_attn.o_proj sums over that dim: its result is partial over model",
                "self_attn.residual needs whole values of attention out: no row that can be taken has it partial over model" }));
        QCOMPARE(why.causes[0].kind, CauseLink::Kind::Layout);
        QCOMPARE(QString::fromStdString(why.causes[0].detail),
                 "strategy entry 6 '*.self_attn.o_proj.weight': columnwise (dim 1) over model (preset megatron-tp)");
        QVERIFY(QString::fromStdString(why.causes[2].detail)
                    .startsWith("R R -> R: the only row that shapes and policy allow; it costs "));
        // 16 x 2048 x 1024 x 2 bytes, all-reduced over 4: 2 B (n - 1) / n; reduce-scattered: half of it.
        const AxisExplanation& model = why.axes[1];
        QCOMPARE(model.axis, 1);
        QCOMPARE(rowNamed(model, "R R -> R").cost, 2.0 * 64 * 1024 * 1024 * 3 / 4);
        const RankedRow& scattered = rowNamed(model, "S1 S1 -> S1");
        QCOMPARE(scattered.cost, 64.0 * 1024 * 1024 * 3 / 4);
        QCOMPARE(scattered.verdict, RankedRow::Verdict::Refused);
        QVERIFY(scattered.why.find("allow_partial_to_sharded") != std::string::npos);
        QCOMPARE(scattered.moves.size(), std::size_t { 2 });
        QCOMPARE(scattered.moves[0].kind, CollectiveKind::LocalSlice);
        QCOMPARE(scattered.moves[1].kind, CollectiveKind::ReduceScatter);
    }

    /// `the next` is the row that costs the least of the others, by what is told of them.
    void theNextRowIsTheNextInPrice()
    {
        Design design = designOn("pipe=4,data=4,model=2", denseModel(4096, 1024, 4096, 4, 16, 8, 64),
                                 { WorkloadKind::Train, 32, 2048, DType::BF16, 8 }, "pp-1f1b");
        const Case it(std::move(design));
        int told = 0;
        for (const char* name : { "block/self_attn.residual", "block/mlp.residual", "block/self_attn.o_proj", "head/lm_head" })
            for (const AxisExplanation& axis : it.explained(name).axes) {
                const std::string_view start = ", the next, ";
                const auto at = axis.why.find(start);
                if (at == std::string::npos)
                    continue;
                const RankedRow* named = nullptr;
                double least = INFINITY;
                for (const RankedRow& row : axis.rows) {
                    if (axis.why.compare(at + start.size(), row.row.size() + 1, row.row + ",") == 0)
                        named = &row;
                    if (row.verdict == RankedRow::Verdict::Allowed)
                        least = std::min(least, row.seconds);
                }
                QVERIFY2(named, axis.why.c_str());
                QVERIFY2(named->seconds == least, axis.why.c_str());
                ++told;
            }
        QVERIFY(told >= 4);
    }

    /// The explanation tells the same time for the row that was taken as the plan does.
    void timesAreThoseOfThePlan()
    {
        const Case it(small("model=4", "megatron-tp"));
        const std::string id = it.collective(CollectiveKind::AllReduce, "mlp out");
        const Explanation why = it.explained(id);
        const auto& all = it.evaluation->plan.collectives;
        const auto collective = std::ranges::find_if(all, [&](const Collective& c) { return c.id == id; });
        QCOMPARE(rowNamed(why.axes[0], "R R -> R").moves[0].seconds, collective->seconds);
        QCOMPARE(rowNamed(why.axes[0], "R R -> R").seconds, collective->seconds);
        QCOMPARE(rowNamed(why.axes[0], "R R -> R").moves[0].bytes, collective->bytes);
    }

    void gatheredWeight()
    {
        const Case it(small("fsdp=8", "fsdp", WorkloadKind::Train));
        const Explanation why = it.explained(it.collective(CollectiveKind::AllGather, "model.layers.*.self_attn.q_proj.weight"));
        QCOMPARE(texts(why),
                 (QStringList { "model.layers.*.self_attn.q_proj.weight is cut on dim 0 (out (heads x head dim)) over fsdp",
                                "preset fsdp keeps dim 0 (batch) of q on fsdp" }));
        QCOMPARE(why.causes[1].kind, CauseLink::Kind::Pin);
        QCOMPARE(why.causes[1].pin, 0);
        QCOMPARE(why.axes[0].by, AxisExplanation::By::Pin);
        QVERIFY(why.axes[0].unpin.has_value());
        // Without that pin the whole design is what greedy alone makes of it.
        const Design without = repaired(it.design, *why.axes[0].unpin);
        QVERIFY(without.pins.empty());
    }

    void summedGradient()
    {
        const Case it(small("data=2,fsdp=4", "hsdp", WorkloadKind::Train));
        const std::string tensor = "grad of model.layers.*.mlp.up_proj.weight from mlp.up_proj";
        const Explanation scattered = it.explained(it.collective(CollectiveKind::ReduceScatter, tensor, Phase::Backward));
        QCOMPARE(texts(scattered).last(), "gradients are summed into the layout of their weight, for the optimizer");
        QVERIFY(texts(scattered)[1].startsWith(
            "mlp.up_proj.grad_w sums over dim 0 (batch) of grad of mlp up: its result is partial over fsdp"));
        QCOMPARE(scattered.causes.back().kind, CauseLink::Kind::Update);
        QVERIFY(scattered.causes.back().detail.find("is cut on dim 0 (out (intermediate)) over fsdp") != std::string::npos);
        QVERIFY(scattered.axes.empty());
        QVERIFY(!scattered.notPicked.empty());
    }

    /// Whatever is explained, the rows are the plan's: the same that are possible, at the same prices, and the same picked.
    void rowsAreThePlans_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        QTest::addColumn<bool>("train");
        QTest::addColumn<PickerOptions>("picker");
        PickerOptions ours;
        for (const char* preset : { "megatron-tp", "tp-sp", "fsdp", "tp+fsdp", "cp-ring", "cp-ulysses" })
            for (const bool train : { false, true })
                QTest::addRow("%s %s", preset, train ? "train" : "prefill")
                    << "fsdp=2,context=2,model=2" << preset << train << ours;
        dataRow("unpinned", "data=2,model=16", "replicate", true, ours);
        for (const PickerProfile profile : { PickerProfile::G0, PickerProfile::G1, PickerProfile::G2, PickerProfile::G3 }) {
            PickerOptions upstream;
            upstream.profile = profile;
            QTest::addRow("%s", profileName(profile).c_str()) << "data=2,model=4"
                                                              << "megatron-tp" << true << upstream;
        }
        for (const PickerKind picker : { PickerKind::PartialsOnly, PickerKind::None }) {
            PickerOptions strict;
            strict.picker = picker;
            QTest::addRow("%s", pickerName(picker).c_str()) << "data=2,model=4"
                                                            << "megatron-tp" << false << strict;
        }
    }
    void rowsAreThePlans()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        QFETCH(bool, train);
        QFETCH(PickerOptions, picker);
        Design design = small(qPrintable(mesh), qPrintable(preset), train ? WorkloadKind::Train : WorkloadKind::Prefill);
        design.picker = picker;
        const Case it(design);
        const Plan& plan = it.evaluation->plan;
        const Pinning pinning(it.evaluation->graph, plan.mesh, it.design.pins, picker.profile);
        int compared = 0;
        for (PlannedSegmentId s { 0 }; s < plan.segments.size(); ++s)
            for (PlannedOpId o { 0 }; o < plan.segments[s].ops.size(); ++o) {
                const PlannedOp& planned = plan.segments[s].ops[o];
                for (const AxisExplanation& axis : rankedRows(it.design, *it.evaluation, pinning, s, o))
                    for (const RankedRow& row : axis.rows) {
                        ++compared;
                        if (row.verdict != RankedRow::Verdict::Picked)
                            continue;
                        for (std::size_t i = 0; i < planned.operands.size(); ++i)
                            QCOMPARE(row.operands[i], placementOn(planned.operands[i].layout, axis.axis).code());
                        QCOMPARE(row.result, placementOn(planned.result, axis.axis).code());
                        double seconds = 0; // one collective has one price, wherever it is told
                        for (const OperandUse& use : planned.operands)
                            for (const CollectiveId id : use.collectives)
                                if (const Collective& moved = plan.collective(id); std::ranges::count(moved.axes, axis.axis) > 0)
                                    seconds += moved.seconds;
                        QCOMPARE(row.seconds, seconds);
                    }
            }
        QVERIFY(compared > 100);
    }

    /// The pin that is offered makes the picker take that row, and the effect is what the pinned design evaluates to.
    void pinsLeadWhereTheyPromise_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        dataRow("tensor parallel", "data=2,model=4", "megatron-tp");
        dataRow("fully sharded", "fsdp=4", "fsdp");
        dataRow("context", "context=2,model=2", "cp-ring");
    }
    void pinsLeadWhereTheyPromise()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        const Case it(small(qPrintable(mesh), qPrintable(preset)));
        int tried = 0;
        for (const char* name : { "embed/embed_tokens", "block/self_attn.q_proj", "block/self_attn.attention",
                                  "block/mlp.down_proj", "block/mlp.residual", "head/lm_head" }) {
            const Explanation before = it.explained(name, 100);
            for (const AxisExplanation& axis : before.axes)
                for (const RankedRow& row : axis.rows) {
                    QCOMPARE(row.edit.has_value(),
                             row.verdict == RankedRow::Verdict::Allowed || row.verdict == RankedRow::Verdict::Refused);
                    if (!row.edit)
                        continue;
                    ++tried;
                    QVERIFY(row.effect.has_value());
                    const auto after = evaluate(repaired(it.design, *row.edit));
                    QVERIFY2(after.ok(), row.row.c_str());
                    QCOMPARE(row.effect->seconds, after.value()->plan.seconds());
                    QCOMPARE(row.effect->bytes, after.value()->plan.collectiveBytes());
                    QCOMPARE(row.effect->peak, after.value()->plan.memory.peak);
                    const Case pinned(repaired(it.design, *row.edit));
                    const Explanation now = pinned.explained(name); // of the first layer, where nothing before it changed
                    QVERIFY2(pickedRow(now.axes, axis.axis) == row.row, (std::string(name) + " " + row.row).c_str());
                }
        }
        QVERIFY(tried > 20);
    }

    void impossibleRowsSayWhy()
    {
        const Case it(small("data=2,model=16", "megatron-tp"));
        const Explanation why = it.explained("self_attn.attention");
        const RankedRow& byHeads = rowNamed(why.axes[1], "S2 S2 S2 -> S2");
        QCOMPARE(byHeads.verdict, RankedRow::Verdict::Impossible);
        QCOMPARE(QString::fromStdString(byHeads.why), "dim 2 (KV heads) of k rotated has 8 elements for 16 devices");
        QVERIFY(!byHeads.pin);
        Design three = small("model=3", "replicate");
        const Explanation odd = Case(three).explained("self_attn.attention");
        QCOMPARE(QString::fromStdString(rowNamed(odd.axes[0], "S2 S2 S2 -> S2").why), "16 heads do not divide by 3");
    }

    void greedyOfMaxMissesRows()
    {
        Design design = small("model=4", "megatron-tp");
        design.picker.profile = PickerProfile::G1;
        const Explanation why = Case(design).explained("embed_tokens");
        const RankedRow& vocabulary = rowNamed(why.axes[0], "R S0 -> P");
        QCOMPARE(vocabulary.verdict, RankedRow::Verdict::Impossible);
        QCOMPARE(QString::fromStdString(vocabulary.why), "profile G1 has no such row, profile shardboard does");
    }

    void names_data()
    {
        QTest::addColumn<QString>("asked");
        QTest::addColumn<QStringList>("found");
        QTest::newRow("operation") << "block/self_attn.q_proj" << QStringList { "operation block/self_attn.q_proj" };
        QTest::newRow("without segment") << "self_attn.q_proj" << QStringList { "operation block/self_attn.q_proj" };
        QTest::newRow("last part") << "o_proj" << QStringList { "operation block/self_attn.o_proj" };
        dataRow("weight", "model.layers.*.mlp.up_proj.weight", QStringList { "weight model.layers.*.mlp.up_proj.weight" });
        dataRow("weight of a layer", "model.layers.2.mlp.up_proj.weight",
                QStringList { "weight model.layers.*.mlp.up_proj.weight 2" });
        QTest::newRow("operation of a layer") << "model.layers.3.mlp.up_proj" << QStringList { "operation block/mlp.up_proj 3" };
        QTest::newRow("end of a weight") << "up_proj.weight" << QStringList { "weight model.layers.*.mlp.up_proj.weight" };
        QTest::newRow("activation") << "q rotated" << QStringList { "activation q rotated" };
        QTest::newRow("input") << "tokens" << QStringList { "weight tokens" };
        dataRow("glob", "*.self_attn.?_proj.weight",
                QStringList { "weight model.layers.*.self_attn.q_proj.weight", "weight model.layers.*.self_attn.k_proj.weight",
                              "weight model.layers.*.self_attn.v_proj.weight", "weight model.layers.*.self_attn.o_proj.weight" });
        dataRow("collective", "block/mlp.residual/mlp out/all-reduce",
                QStringList { "collective block/mlp.residual/mlp out/all-reduce" });
    }
    void names()
    {
        QFETCH(QString, asked);
        const Case it(small("data=2,model=4", "megatron-tp"));
        const auto targets = sure(explainTargets(*it.evaluation, asked.toStdString()));
        QStringList found;
        for (const ExplainTarget& target : targets) {
            const char* kinds[] = { "collective", "operation", "weight", "activation" };
            found << QString("%1 %2%3").arg(kinds[static_cast<int>(target.kind)], QString::fromStdString(target.name),
                                            target.layer < 0 ? QString() : QString(" %1").arg(target.layer));
        }
        QTEST(found, "found");
    }

    void unknownNamesTellNearOnes()
    {
        const Case it(small("data=2,model=4", "megatron-tp"));
        const auto text = [&](const char* asked) {
            return QString::fromStdString(explainTargets(*it.evaluation, asked).error().text());
        };
        QVERIFY(text("o_porj").endsWith("did you mean 'self_attn.o_proj'?"));
        QVERIFY(text("up_projj").contains("'mlp.up_proj'"));
        QVERIFY(text("layers.9.self_attn.q_proj").contains("no collective"));
        QVERIFY(text("").contains("no collective"));
        QVERIFY(text("Zzzzzzzzzzzzzzzz").contains("shardctl plan"));
    }

    void pinsAsText_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("read"); ///< empty: refused
        dataRow("batch", "*:batch=data,fsdp", "*:batch=data,fsdp");
        dataRow("blanks", " residual : sequence = model ; whole = data ", "residual:sequence=model;whole=data");
        dataRow("row", "block/self_attn.attention@context=S1 R R -> S1", "block/self_attn.attention@context=S1 R R -> S1");
        dataRow("row, blanks", "a @ x = S1  R->P", "a@x=S1 R -> P");
        dataRow("no row", "a@x=S1", "");
        dataRow("no such placement", "a@x=Q R -> R", "");
        dataRow("no axis", "a@=R -> R", "");
        dataRow("nothing", "batch", "");
        dataRow("no label", "*:=data", "");
        dataRow("no axes", "*:batch=", "");
        dataRow("empty axis", "*:batch=data,,x", "");
        dataRow("no match", ":batch=data", "");
    }
    void pinsAsText()
    {
        QFETCH(QString, text);
        QFETCH(QString, read);
        const auto pin = parsePin(text.toStdString());
        QCOMPARE(pin.ok(), !read.isEmpty());
        if (!pin.ok()) {
            QVERIFY(QString::fromStdString(pin.error().text()).startsWith("--pin: "));
            return;
        }
        QCOMPARE(QString::fromStdString(pinText(pin.value())), read);
        QCOMPARE(parsePin(pinText(pin.value())).value(), pin.value());
    }

    /// A pin with a segment before the name is one of that segment alone.
    void pinOfOneSegment()
    {
        Design design = small("model=4", "megatron-tp");
        design.model.moe.experts = 8;
        design.model.moe.chosen = 2;
        design.model.moe.intermediateSize = 512;
        design.model.moe.firstDense = 1;
        design.pins.push_back(parsePin("moe block/self_attn.attention@model=R R R -> R").value());
        const Case it(design);
        const auto picked = [&](const char* name) { return pickedRow(it.explained(name).axes, 0); };
        QCOMPARE(picked("moe block/self_attn.attention"), "R R R -> R");
        QCOMPARE(picked("dense block/self_attn.attention"), "S2 S2 S2 -> S2");
        const auto op = it.explained("moe block/self_attn.attention");
        const RankedRow& other = rowNamed(op.axes[0], "S2 R R -> S2");
        QCOMPARE(other.pin->match, "moe block/self_attn.attention"); // as both have one of that name
    }

    void pinsReplaceTheirLike()
    {
        Design design;
        design = withPin(design, parsePin("a@x=R -> R").value());
        design = withPin(design, parsePin("a@x=S0 -> S0").value());
        design = withPin(design, parsePin("a@y=S0 -> S0").value());
        design = withPin(design, parsePin("*:batch=x").value());
        design = withPin(design, parsePin("*:sequence=y").value());
        design = withPin(design, parsePin("*:batch=y").value());
        QStringList pins;
        for (const Pin& pin : design.pins)
            pins << QString::fromStdString(pinText(pin));
        QCOMPARE(pins, (QStringList { "a@x=S0 -> S0", "a@y=S0 -> S0", "*:sequence=y", "*:batch=y" }));
    }

    void presetsAreRecognised()
    {
        for (const char* preset : { "megatron-tp", "tp-sp", "fsdp", "cp-ring", "cp-ulysses", "replicate" })
            QCOMPARE(originOfEntries(small("data=2,fsdp=2,context=2,model=2", preset)).preset, preset);
        // What was put there by hand is no preset's.
        Design own = small("data=2,model=4", "replicate");
        own.strategies.push_back({ "*.o_proj.weight", { StrategyKind::Columnwise, { "model" } }, std::nullopt });
        QCOMPARE(QString::fromStdString(Case(own).explained("o_proj.weight").causes[0].detail),
                 "strategy entry 3 '*.o_proj.weight': columnwise (dim 1) over model");
        QVERIFY(QString::fromStdString(Case(own).explained("q_proj.weight").causes[0].detail).endsWith("(preset replicate)"));
        own.strategies.clear();
        QVERIFY(originOfEntries(own).preset.empty());
    }

    /// Explaining does not depend on the number of devices or layers.
    void largeDesignsAreExplained()
    {
        const Case it(designOn("data=8,fsdp=16,context=8,model=16", denseModel(128256, 16384, 53248, 126, 128, 8, 128),
                               { WorkloadKind::Train, 1024, 8192, DType::BF16 }, "tp+fsdp"));
        QBENCHMARK { QVERIFY(!it.explained("mlp.down_proj").causes.empty()); }
    }
};

SHARDBOARD_TEST(TestExplain)
#include "tst_explain.moc"
