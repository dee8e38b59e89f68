// SPDX-License-Identifier: Apache-2.0
// Findings: each kind with its cost and its repair; designs that hold mistakes stay usable; repairs remove what they
// repair.
#include "model/design/entryindex.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/explain/explain.h"
#include "model/design/findings/findings.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/text/glob.h"
#include "tests/support/datarow.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

using namespace shardboard;

namespace {

Strategy over(StrategyKind kind, std::vector<std::string> axes) { return { kind, std::move(axes) }; }
Strategy spec(const char* text) { return { StrategyKind::Spec, {}, 0, text }; }

/// 4 layers of 8 heads (4 KV heads) of 64, MLP 512 x 2048.
Design small(const char* mesh)
{
    Design design = designOn(mesh, denseModel(1000, 512, 2048, 4, 8, 4, 64));
    design.strategies = { { "*", {}, {} } };
    return design;
}

/// The same, where weights are most of what a device holds.
Design light(const char* mesh)
{
    Design design = small(mesh);
    design.workload.batch = 2;
    design.workload.sequence = 64;
    design.memory.communicatorBytes = 0;
    return design;
}

Design loose(const char* mesh, std::vector<std::pair<std::string, Shape>> weights)
{
    Design design;
    design.mesh = Mesh::parse(mesh).value();
    design.model.name = design.model.source = "loose";
    design.model.notUnderstood = "the family is not known";
    for (auto& [name, shape] : weights)
        design.model.looseWeights.push_back({ { name, shape, DType::BF16, TensorRole::Weight, {} }, false });
    return design;
}

Design ruled(const char* mesh, std::vector<LogicalRule> rules)
{
    Design design = small(mesh);
    design.strategies.clear();
    design.rules = { "by hand", std::move(rules) };
    return design;
}

std::vector<DesignFinding> ofKind(const Evaluation& evaluation, const std::string& kind, const std::string& where = {})
{
    std::vector<DesignFinding> out;
    for (const DesignFinding& finding : evaluation.findings)
        if (finding.kind == kind && finding.where.ends_with(where))
            out.push_back(finding);
    return out;
}

std::string layoutText(const Design& design, const std::string& end)
{
    return specText(weightOf(*tolerant(design), end).layout, design.mesh);
}

using Key = std::pair<std::string, std::string>;
std::multiset<Key> keys(const Evaluation& evaluation, bool errorsOnly)
{
    std::multiset<Key> out;
    for (const DesignFinding& finding : evaluation.findings)
        if (!errorsOnly || finding.severity == Severity::Error)
            out.emplace(finding.kind, finding.where);
    return out;
}

/// Groups of layers in which a weight of that name is laid out alike.
std::ptrdiff_t groups(const Evaluation& evaluation, const std::string& name)
{
    return std::ranges::count_if(evaluation.weights, [&](const WeightLayout& w) { return w.spec.name == name; });
}

/// Makes the repair of a finding and says what is wrong with the result; empty when it is gone and no error is new.
QString afterRepair(const Design& design, const Evaluation& before, const DesignFinding& finding)
{
    const auto after = evaluate(repaired(design, *finding.fix), Misfits::Replicate);
    const QString who = QString::fromStdString(finding.kind + " at " + finding.where + ", by: " + finding.fix->text);
    if (!after.ok())
        return who + " leads to " + QString::fromStdString(after.error().text());
    const Key key { finding.kind, finding.where };
    // Entries for single layers tell more layers apart, and what is wrong with the others is then told more often.
    const bool split = groups(*after.value(), finding.where) > groups(before, finding.where);
    if (keys(*after.value(), false).count(key) >= keys(before, false).count(key) && !split)
        return who + " leaves the finding";
    const auto errors = keys(before, true);
    for (const Key& error : keys(*after.value(), true))
        if (!errors.contains(error))
            return who + " makes " + QString::fromStdString(error.first + " at " + error.second);
    return {};
}

} // namespace

class TestFindings : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void misfits_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("text"); ///< a spec, or kind:axes
        QTest::addColumn<QString>("kind");
        QTest::addColumn<QString>("mended"); ///< layout of lm_head (1000 x 512) after the repair
        dataRow("misspelt axis", "data=2,model=4", "rowwise:modle", "unknown-axis", "P('model')");
        dataRow("axis outside the mesh", "data=2,model=4", "rowwise:model,expert", "unknown-axis", "P('model')");
        dataRow("only axis outside", "data=2,model=4", "rowwise:expert", "unknown-axis", "P()");
        dataRow("in a spec", "data=2,model=4", "P(('model', 'zz'), 'data')", "unknown-axis", "P('model', 'data')");
        dataRow("twice", "data=2,model=4", "P('model', 'model')", "axis-twice", "P('model')");
        dataRow("twice on one dim", "data=2,model=4", "rowwise:model,model", "axis-twice", "P('model')");
        dataRow("indivisible", "model=3", "P('model')", "indivisible", "P('model')");
        dataRow("one of two divides", "model=3,data=2", "P(('model', 'data'))", "indivisible", "P('data')");
        dataRow("overflow", "model=1024,data=2", "P(('model', 'data'))", "overflow", "P('data')");
        dataRow("partial", "data=2,model=4", "P('data', unreduced={'model'})", "partial", "P('data')");
        dataRow("too many entries", "data=2,model=4", "P('data', None, 'model')", "dim-out-of-range", "P('data')");
        dataRow("no spec", "data=2,model=4", "P('data'", "unreadable", "P()");
        dataRow("of modules", "data=2,model=4", "tensor-parallel:model", "unreadable", "P('model')");
        dataRow("fused on one that is not", "model=2", "gate-up:model", "not-planned", "P(None, 'model')");
    }
    void misfits()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, text);
        QFETCH(QString, kind);
        QFETCH(QString, mended);
        Design design = small(mesh.toUtf8().constData());
        Strategy strategy = spec(text.toUtf8().constData());
        if (!text.startsWith("P(")) {
            strategy = over(*strategyKindFromName(text.section(':', 0, 0).toStdString()), {});
            for (const QString& axis : text.section(':', 1).split(','))
                strategy.axes.push_back(axis.toStdString());
            strategy.dim = strategy.kind == StrategyKind::GateUp ? 1 : 0;
        }
        design.strategies.push_back({ "lm_head.weight", strategy, {} });
        QVERIFY(!evaluate(design).ok()); // a plan, a run and an export refuse
        const auto evaluation = tolerant(design);
        const WeightLayout& head = weightOf(*evaluation, "lm_head.weight");
        QVERIFY(head.misfit && head.layout.isReplicated());
        QCOMPARE(head.bytesPerDevice, 1000 * 512 * 2);
        const auto findings = ofKind(*evaluation, kind.toStdString());
        QCOMPARE(findings.size(), std::size_t(1));
        QCOMPARE(findings[0].severity, Severity::Error);
        QCOMPARE(findings[0].where, std::string("lm_head.weight"));
        QVERIFY(!findings[0].message.empty() && !findings[0].repair.empty());
        QVERIFY(findings[0].fix);
        const Design after = repaired(design, *findings[0].fix);
        QVERIFY(evaluate(after).ok());
        QCOMPARE(after.strategies.size(), design.strategies.size()); // the entry itself is changed
        QCOMPARE(QString::fromStdString(layoutText(after, "lm_head.weight")), mended);
        QCOMPARE(findings[0].costBytes, 1000 * 512 * 2 - weightOf(*tolerant(after), "lm_head.weight").bytesPerDevice);
    }

    void wideEntryIsMendedOnceAndOneWeightAlone()
    {
        Design design = small("data=2,model=4");
        design.strategies = { { "*", over(StrategyKind::Replicate, {}), {} },
                              { "*_proj.weight", over(StrategyKind::Rowwise, { "modle" }), {} } };
        auto evaluation = tolerant(design);
        QCOMPARE(ofKind(*evaluation, "unknown-axis").size(), std::size_t(7));
        design = repaired(design, *ofKind(*evaluation, "unknown-axis").front().fix);
        QCOMPARE(ofKind(*tolerant(design), "unknown-axis").size(), std::size_t(0));
        QCOMPARE(layoutText(design, "up_proj.weight"), std::string("P('model')"));

        // columnwise suits the projections and not the norms: these get an entry of their own.
        design.strategies = { { "*", over(StrategyKind::Columnwise, { "model" }), {} }, { "tokens", {}, {} } };
        evaluation = tolerant(design);
        const auto findings = ofKind(*evaluation, "dim-out-of-range");
        QCOMPARE(findings.size(), std::size_t(3)); // two norms in the layers, one at the end
        for (const DesignFinding& finding : findings)
            QVERIFY2(afterRepair(design, *evaluation, finding).isEmpty(), qPrintable(afterRepair(design, *evaluation, finding)));
        QCOMPARE(layoutText(repaired(design, *findings[0].fix), "up_proj.weight"), std::string("P(None, 'model')"));
    }

    void newMisfitsAreToldFromOldOnes()
    {
        Design design = small("data=2,model=4");
        const auto good = tolerant(design);
        design.strategies.push_back({ "lm_head.weight", over(StrategyKind::Rowwise, { "x" }), {} });
        const auto bad = tolerant(design);
        QVERIFY(newMisfit(*bad, *good));
        QVERIFY(!newMisfit(*good, *bad));
        design.strategies.insert(design.strategies.begin(), { "nothing", {}, {} }); // the same mistake at another index
        QVERIFY(!newMisfit(*tolerant(design), *bad));
        design.strategies.push_back({ "*embed_tokens.weight", over(StrategyKind::Rowwise, { "x" }), {} });
        QCOMPARE(newMisfit(*tolerant(design), *bad)->error.where, std::string("strategies[3] on model.embed_tokens.weight"));
    }

    void nothingSaidAboutALargeWeight()
    {
        Design design = small("data=2,model=4");
        design.strategies = { { "tokens", spec("P('data')"), {} } };
        const auto evaluation = tolerant(design);
        const auto down = ofKind(*evaluation, "silently-replicated", "down_proj.weight");
        QCOMPARE(down.size(), std::size_t(1));
        QCOMPARE(down[0].costBytes, 4LL * (2048 * 512 * 2) * 3 / 4); // what the repair saves: it cuts over model
        const Design after = repaired(design, *down[0].fix);
        QCOMPARE(layoutText(after, "down_proj.weight"), std::string("P(None, 'model')")); // 2048 is the larger dim
        QCOMPARE(layoutText(after, "up_proj.weight"), std::string("P()"));
        QVERIFY(ofKind(*evaluation, "silently-replicated", "norm.weight").empty());
    }

    /// By an entry for it, behind one that cuts it or without one; of a pipeline the devices of one stage could share it.
    void replicatedByHand()
    {
        constexpr std::int64_t kUp = 2048 * 512 * 2;
        Design design = light("data=2,model=4");
        design.strategies.push_back({ "*.down_proj.weight", over(StrategyKind::Columnwise, { "model" }), {} });
        design.strategies.push_back({ "*.up_proj.weight", over(StrategyKind::Rowwise, { "data" }), {} });
        QVERIFY(ofKind(*tolerant(design), "replicated").empty()); // `*` is meant
        design.strategies.push_back({ "*.layers.*.up_proj.weight", {}, {} });
        const auto hidden = ofKind(*tolerant(design), "replicated");
        QCOMPARE(hidden.size(), std::size_t { 1 });
        QCOMPARE(hidden[0].severity, Severity::Warning);
        QCOMPARE(hidden[0].costBytes, 4 * kUp / 2);
        QVERIFY2(hidden[0].message.find("hides strategy 3 (*.up_proj.weight)") != std::string::npos, hidden[0].message.c_str());
        QCOMPARE(layoutText(repaired(design, *hidden[0].fix), "up_proj.weight"), std::string("P('data')"));
        QVERIFY(isRepairedWithAll(hidden[0]));
        // Nobody asks: over the axis that cuts other weights, and only where that is asked for.
        design.strategies.erase(design.strategies.end() - 2);
        const auto note = ofKind(*tolerant(design), "replicated");
        QCOMPARE(note.size(), std::size_t { 1 });
        QCOMPARE(note[0].severity, Severity::Note);
        QCOMPARE(note[0].costBytes, 4 * kUp * 3 / 4);
        QCOMPARE(layoutText(repaired(design, *note[0].fix), "up_proj.weight"), std::string("P('model')"));
        QVERIFY(!isRepairedWithAll(note[0]));
        // What nothing divides cannot be cut.
        design.mesh = Mesh::parse("data=1,model=3").value();
        QVERIFY(ofKind(*tolerant(design), "replicated").empty());
        // Two of four layers lie on a stage.
        design.mesh = Mesh::parse("stage=2,model=2").value();
        design.pipeline = { "stage", 1 };
        const auto staged = ofKind(*tolerant(design), "replicated");
        QCOMPARE(staged.size(), std::size_t { 1 });
        QCOMPARE(staged[0].costBytes, 2 * kUp / 2);
        QCOMPARE(layoutText(repaired(design, *staged[0].fix), "up_proj.weight"), std::string("P('model')"));
        design.mesh = Mesh::parse("stage=4,model=1").value();
        QVERIFY(ofKind(*tolerant(design), "replicated").empty()); // a stage has one device
    }

    /// A repair of a whole weight takes nothing back that it gives: no device needs more for it, and none tells more layers apart.
    void repairsOfWholeWeightsGain_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        QTest::addColumn<QString>("workload");
        QTest::addColumn<QString>("replicated");
        dataRow("a table and the batch's axis", "gemma3-4b", "data=8,model=1", "replicate", "train", "*embed_tokens.weight");
        dataRow("experts and the batch's axis", "gpt-oss-20b", "data=8,model=1", "replicate", "prefill", "*experts*");
        dataRow("a head over experts' axis", "mixtral-8x7b", "data=2,expert=4", "ep", "prefill", "*lm_head.weight");
        dataRow("two kinds of layers", "deepseek2-16b", "fsdp=2,model=2", "tp-sp", "train", "*experts*,*.o_proj.weight");
        dataRow("all projections", "deepseek2-16b", "data=2,model=2", "megatron-tp", "prefill", "*_proj.weight");
        dataRow("some layers", "llama3-8b", "data=2,model=4", "megatron-tp", "train", "model.layers.1[0-9].*");
        dataRow("a gathered weight", "llama3-8b", "fsdp=8", "fsdp", "train", "*.o_proj.weight,*down_proj*");
    }
    void repairsOfWholeWeightsGain()
    {
        QFETCH(QString, replicated);
        QFETCH(QString, workload);
        Workload work { *workloadFromName(workload.toStdString()), 48, 512, DType::BF16 };
        QFETCH(QString, model);
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        Design design = designOn(mesh.toStdString(), sure(builtinModel(model.toStdString())), work, preset.toStdString());
        const auto asPreset = tolerant(design);
        for (const QString& match : replicated.split(','))
            design.strategies.push_back({ match.toStdString(), {}, {} });
        const auto before = tolerant(design);
        for (const DesignFinding& finding : ofKind(*before, "replicated")) {
            if (!finding.fix)
                continue;
            const Design mended = repaired(design, *finding.fix);
            const auto after = tolerant(mended);
            const auto what = finding.where + ": " + finding.fix->text;
            QVERIFY2(after->plan.memory.peak <= before->plan.memory.peak, what.c_str());
            QVERIFY2(after->plan.memory.weights < before->plan.memory.weights, what.c_str());
            if (!isDefect(finding))
                QVERIFY2(after->plan.seconds() <= before->plan.seconds() * 1.01, what.c_str());
            QVERIFY2(after->findings.size() < before->findings.size(), what.c_str());
            QVERIFY2(mended.strategies.size() <= design.strategies.size() + 1, what.c_str());
        }
        // Step by step, as the window and shardctl do.
        auto now = before;
        for (int step = 0; step < 50; ++step) {
            const auto next = std::ranges::find_if(now->findings, isRepairedWithAll);
            if (next == now->findings.end())
                break;
            design = repaired(design, *next->fix);
            now = tolerant(design);
        }
        QCOMPARE(std::ranges::count_if(now->findings, isDefect), std::ranges::count_if(asPreset->findings, isDefect));
        QVERIFY(now->plan.memory.peak <= before->plan.memory.peak);
    }

    /// The entry that replicates a weight of two kinds of layers becomes the cut that it hides, for all of them at once.
    void restoresKindsOfLayersTogether()
    {
        Workload workload { WorkloadKind::Train, 48, 512, DType::BF16 };
        Design design = designOn("fsdp=2,model=2", sure(builtinModel("deepseek2-16b")), workload, "tp-sp");
        const auto left = tolerant(design)->findings.size();
        design.strategies.push_back({ "*.o_proj.weight", {}, {} });
        const auto found = ofKind(*tolerant(design), "replicated", "o_proj.weight");
        QCOMPARE(found.size(), std::size_t { 2 }); // of the dense layer and of the others
        for (const DesignFinding& finding : found) {
            const Design after = repaired(design, *finding.fix);
            QCOMPARE(after.strategies.size(), design.strategies.size());
            QCOMPARE(after.strategies.back().match, std::string("*.o_proj.weight"));
            const auto evaluation = tolerant(after);
            for (const WeightLayout& weight : evaluation->weights)
                if (weight.spec.name.ends_with("o_proj.weight"))
                    QCOMPARE(specText(weight.layout, after.mesh), std::string("P(None, 'model')"));
            QCOMPARE(evaluation->findings.size(), left);
        }
    }

    /// One entry that hides several cuts stays, for the rest of its weights; the hidden cut goes behind it.
    void restoresByTheHiddenEntry()
    {
        Design design = light("data=2,model=4");
        design.strategies.push_back({ "*.up_proj.weight", over(StrategyKind::Rowwise, { "model" }), {} });
        design.strategies.push_back({ "*.down_proj.weight", over(StrategyKind::Columnwise, { "model" }), {} });
        design.strategies.push_back({ "model.layers.[0-1].mlp.*", {}, {} });
        const auto found = ofKind(*tolerant(design), "replicated", "up_proj.weight");
        QCOMPARE(found.size(), std::size_t { 1 });
        const Design after = repaired(design, *found[0].fix);
        QCOMPARE(after.strategies.size(), design.strategies.size());
        QCOMPARE(after.strategies.back(), design.strategies[1]);
        const auto evaluation = tolerant(after);
        for (const WeightLayout& weight : evaluation->weights)
            if (weight.spec.name.ends_with("up_proj.weight"))
                QCOMPARE(specText(weight.layout, after.mesh), std::string("P('model')"));
        QCOMPARE(ofKind(*evaluation, "replicated", "down_proj.weight").size(), std::size_t { 1 }); // in two layers
    }

    /// Neither an entry over the stages nor one that replicates too is what is restored: the cut before them is.
    void looksPastEntriesThatCutNothing()
    {
        Design design = light("stage=2,model=2");
        design.pipeline = { "stage", 1 };
        design.strategies.push_back({ "*.up_proj.weight", over(StrategyKind::Rowwise, { "model" }), {} });
        design.strategies.push_back({ "*.down_proj.weight", over(StrategyKind::Columnwise, { "model" }), {} });
        design.strategies.push_back({ "*.up_proj.weight", over(StrategyKind::Columnwise, { "stage" }), {} });
        design.strategies.push_back({ "*.up_proj.weight", {}, {} });
        design.strategies.push_back({ "*.up_proj.weight", {}, {} });
        const auto found = ofKind(*tolerant(design), "replicated");
        QCOMPARE(found.size(), std::size_t { 1 });
        QCOMPARE(found[0].severity, Severity::Warning);
        QVERIFY2(found[0].message.find("hides strategy 2 (*.up_proj.weight)") != std::string::npos, found[0].message.c_str());
        const Design after = repaired(design, *found[0].fix);
        QCOMPARE(layoutText(after, "up_proj.weight"), std::string("P('model')"));
        QVERIFY(tolerant(after)->findings.empty());
    }

    /// What an entry matches says whether it is one for all weights, not how it is written.
    void entriesForAllWeights_data()
    {
        QTest::addColumn<QString>("match");
        QTest::addColumn<int>("found");
        for (const char* match : { "*", "**", "*.weight", "*weight*" })
            QTest::newRow(match) << match << 0;
        QTest::newRow("of two") << "*.[ud]*_proj.weight" << 2; // gate_proj is as large
    }
    void entriesForAllWeights()
    {
        QFETCH(QString, match);
        Design design = light("data=2,model=4");
        design.strategies.push_back({ "*.up_proj.weight", over(StrategyKind::Rowwise, { "model" }), {} });
        design.strategies.push_back({ "*.down_proj.weight", over(StrategyKind::Columnwise, { "model" }), {} });
        design.strategies.push_back({ match.toStdString(), {}, {} });
        const auto found = ofKind(*tolerant(design), "replicated");
        QTEST(static_cast<int>(std::ranges::count_if(found, isDefect)), "found");
        // An axis of one device is asked for in vain, whatever else the entry is for.
        design.mesh = Mesh::parse("data=2,model=4,one=1").value();
        design.strategies.back().strategy = spec("P('one')");
        for (const DesignFinding& finding : ofKind(*tolerant(design), "replicated"))
            QVERIFY2(finding.severity == Severity::Warning
                         && finding.message.find("asks for one, which has one device") != std::string::npos,
                     finding.message.c_str());
        QVERIFY(!ofKind(*tolerant(design), "replicated", "up_proj.weight").empty());
    }

    /// A stage has layers of its own, so that nothing is cut over the stages.
    void stagesShareNoWeight()
    {
        Design design = small("stage=4,model=2");
        design.strategies = { { "tokens", {}, {} } };
        design.pipeline = { "stage", 1 };
        const auto evaluation = tolerant(design);
        const auto found = ofKind(*evaluation, "silently-replicated", "down_proj.weight");
        QCOMPARE(found.size(), std::size_t { 1 });
        QCOMPARE(found[0].costBytes, std::int64_t { 2048 * 512 * 2 / 2 });
        QCOMPARE(layoutText(repaired(design, *found[0].fix), "down_proj.weight"), std::string("P(None, 'model')"));
        ExplainOptions options;
        options.effects = 100;
        const auto targets = sure(explainTargets(*evaluation, "*down_proj.weight"));
        const auto layouts = explain(design, *evaluation, targets.front(), options).layouts;
        QVERIFY(!layouts.empty());
        for (const LayoutChoice& choice : layouts)
            QVERIFY2(choice.spec.find("stage") == std::string::npos, choice.spec.c_str());
    }

    /// maxtext 3.1: `mlp, embed` with mlp:x; embed:[f,x] loses f on embed. The bytes are those of 8 devices more.
    void ruleLosesItsFreeAxis()
    {
        const Design design = ruled("f=8,x=4", { { "mlp", { "x" }, "base.yml:7" }, { "embed", { "f", "x" }, {} } });
        const auto evaluation = tolerant(design);
        QCOMPARE(layoutText(design, "up_proj.weight"), std::string("P('x')"));
        const auto lost = ofKind(*evaluation, "silently-replicated", "up_proj.weight");
        QCOMPARE(lost.size(), std::size_t(1));
        const std::int64_t held = 4LL * 2048 * 512 * 2 / 4;
        QCOMPARE(lost[0].costBytes, held - held / 8);
        QVERIFY2(QString::fromStdString(lost[0].message)
                     .startsWith("dim 1 (embed) asks for f by rule 2 and does not get it, because rule 1"
                                 " (base.yml:7) has given x to dim 0"),
                 lost[0].message.c_str());
        const Design after = repaired(design, *lost[0].fix);
        QCOMPARE(after.rules.rules.size(), std::size_t(3)); // embed: f behind embed: f, x
        QCOMPARE(after.rules.rules[2], (LogicalRule { "embed", { "f" }, {} }));
        QCOMPARE(layoutText(after, "up_proj.weight"), std::string("P('x', 'f')"));
        QVERIFY(ofKind(*tolerant(after), "silently-replicated", "up_proj.weight").empty());
    }

    void sizeOneAxisLosesAnother()
    {
        const Design design = ruled("f=8,x=1", { { "mlp", { "x" }, {} }, { "embed", { "f", "x" }, {} } });
        const auto evaluation = tolerant(design);
        const auto lost = ofKind(*evaluation, "silently-replicated", "up_proj.weight");
        QCOMPARE(lost.size(), std::size_t(1));
        QCOMPARE(lost[0].costBytes, 4LL * 2048 * 512 * 2 * 7 / 8);
        QVERIFY(lost[0].message.find("although that mesh axis has one device") != std::string::npos);
        QVERIFY(afterRepair(design, *evaluation, lost[0]).isEmpty());
        // A fallback that still uses the axis somewhere loses nothing; a lost axis of one device costs nothing.
        const Design base = ruled("f=8,x=4", { { "mlp", { "x" }, {} }, { "embed", { "f", "x" }, {} }, { "embed", { "f" }, {} } });
        QVERIFY(ofKind(*tolerant(base), "silently-replicated").empty());
        const Design ones = ruled("f=1,x=8", { { "mlp", { "x" }, {} }, { "embed", { "f", "x" }, {} } });
        QVERIFY(ofKind(*tolerant(ones), "silently-replicated", "up_proj.weight").empty());
    }

    void rulesGiveWayToEntries()
    {
        Design design = ruled("f=8", { { "mlp", { "f" }, {} } });
        QVERIFY(weightOf(*tolerant(design), "up_proj.weight").resolution);
        QCOMPARE(weightOf(*tolerant(design), "up_proj.weight").strategy, spec("P('f')"));
        design.strategies = { { "*up_proj.weight", {}, {} } };
        QVERIFY(!weightOf(*tolerant(design), "up_proj.weight").resolution);
        QCOMPARE(layoutText(design, "up_proj.weight"), std::string("P()"));
        QCOMPARE(layoutText(design, "gate_proj.weight"), std::string("P('f')"));
        QVERIFY(evaluate(design).ok());
    }

    void rulesThatDoNotDivide()
    {
        Design design = ruled("f=3,g=2", { { "vocab", { "f", "g" }, {} }, { "mlp", { "f" }, {} }, { "embed", {}, {} } });
        const auto evaluation = tolerant(design);
        QVERIFY(evaluate(design).ok()); // shown and planned balanced
        const auto mlp = ofKind(*evaluation, "indivisible", "up_proj.weight");
        QCOMPARE(mlp.size(), std::size_t(1));
        QCOMPARE(mlp[0].severity, Severity::Warning);
        QCOMPARE(mlp[0].costBytes,
                 4LL * (683 * 512 * 2 - 2048 * 512 * 2 / 3)); // 683 of 2048 rows; an even share is 682 2/3
        const auto head = ofKind(*evaluation, "indivisible", "lm_head.weight");
        QCOMPARE(layoutText(repaired(design, *head.front().fix), "lm_head.weight"), std::string("P('g')"));
        design.mesh = Mesh::parse("f=4096").value();
        const auto overflow = ofKind(*tolerant(design), "overflow", "up_proj.weight");
        QCOMPARE(overflow.size(), std::size_t(1));
        QVERIFY(overflow[0].message.find("2,048 of 4,096 shards are empty") != std::string::npos);
    }

    void rulesNobodyNeeds()
    {
        const Design design = ruled("f=2",
                                    { { "embed", { "f" }, {} },
                                      { "mlp", {}, {} },
                                      { "embed", { "f", "g" }, {} }, // f decides before, or is taken for both
                                      { "mlp", { "f" }, {} }, // replicated before
                                      { "embed", { "g" }, {} } });
        const auto evaluation = tolerant(design);
        const auto dead = ofKind(*evaluation, "dead-rule");
        QCOMPARE(dead.size(), std::size_t(2));
        for (const DesignFinding& finding : dead) {
            QCOMPARE(repaired(design, *finding.fix).rules.rules.size(), std::size_t(4));
            QVERIFY(afterRepair(design, *evaluation, finding).isEmpty());
        }
        const auto outside = ofKind(*evaluation, "outside-mesh");
        QCOMPARE(outside.size(), std::size_t(1));
        QCOMPARE(outside[0].where, std::string("g"));
        QCOMPARE(outside[0].severity, Severity::Note); // no weight gets it: embed is decided by its first rule
        const Design after = repaired(design, *outside[0].fix);
        QCOMPARE(after.rules.rules[2].axes, std::vector<std::string> { "f" });
        QVERIFY(after.rules.rules[4].axes.empty());
        // Names that no rule knows: the head is large, a norm is small.
        const auto unknown = ofKind(*evaluation, "no-rule", "norm");
        QCOMPARE(unknown.size(), std::size_t(1));
        QCOMPARE(unknown[0].severity, Severity::Note);
        QCOMPARE(ofKind(*evaluation, "no-rule", "q_heads").size(), std::size_t(1));
        QVERIFY(afterRepair(design, *evaluation, unknown[0]).isEmpty());
    }

    void ruleWithAMisspeltName()
    {
        const Design design =
            ruled("data=2,model=4", { { "heads", { "model" }, {} }, { "mpl", { "model" }, {} }, { "embed", {}, {} } });
        const auto evaluation = tolerant(design);
        const auto unknown = ofKind(*evaluation, "no-rule", "mlp");
        QCOMPARE(unknown.size(), std::size_t(1));
        QVERIFY2(unknown[0].repair.find("'mpl'") != std::string::npos, unknown[0].repair.c_str());
        QCOMPARE(unknown[0].fix->text, std::string("Rename rule mpl to mlp"));
        const Design after = repaired(design, *unknown[0].fix);
        QCOMPARE(after.rules.rules.size(), design.rules.rules.size());
        QCOMPARE(layoutText(after, "up_proj.weight"), std::string("P('model')"));
        // A name that tensors ask for is not taken for another one.
        const auto near = tolerant(ruled("model=4", { { "heads", { "model" }, {} }, { "mlp", {}, {} } }));
        for (const auto& finding : ofKind(*near, "no-rule", "q_heads"))
            QCOMPARE(finding.fix->text, std::string("Add rule q_heads: replicated"));
    }

    void ruleWithAnAxisTwice()
    {
        const Design design = ruled("f=2", { { "embed", { "f", "f" }, {} }, { "mlp", {}, {} } });
        QVERIFY(!evaluate(design).ok());
        const auto evaluation = tolerant(design);
        const auto twice = ofKind(*evaluation, "axis-twice");
        QCOMPARE(twice.size(), std::size_t(1));
        QCOMPARE(twice[0].where, std::string("embed"));
        const Design after = repaired(design, *twice[0].fix);
        QVERIFY(evaluate(after).ok());
        QCOMPARE(layoutText(after, "up_proj.weight"), std::string("P(None, 'f')"));
    }

    void headsOnTwoDevices()
    {
        Design design = small("data=2,model=8");
        design.strategies.push_back({ "*.k_proj.weight", over(StrategyKind::Rowwise, { "model" }), {} }); // 4 KV heads over 8
        const auto evaluation = tolerant(design);
        const auto split = ofKind(*evaluation, "heads-split");
        QCOMPARE(split.size(), std::size_t(1)); // not once more for the gather it causes
        QVERIFY(split[0].where.ends_with("k_proj.weight"));
        QVERIFY(split[0].costBytes > 0);
        QVERIFY(afterRepair(design, *evaluation, split[0]).isEmpty());
        // 6 devices divide neither 8 heads nor 512 rows in heads; over data alone the heads stay whole.
        design = small("data=2,model=3");
        design.strategies.push_back({ "*.q_proj.weight", over(StrategyKind::Rowwise, { "data", "model" }), {} });
        const auto q = ofKind(*tolerant(design), "heads-split", "q_proj.weight");
        QVERIFY(!q.empty());
        QCOMPARE(layoutText(repaired(design, *q[0].fix), "q_proj.weight"), std::string("P('data')"));
    }

    void queryGroupsOnTwoDevices()
    {
        // 12 heads in groups of 4 (3 KV heads) over 4 devices: three heads each, and device 1 holds one of group 0 and two of
        // group 1. Every device has all KV heads, so that nobody needs those of a neighbour: the plan moves nothing of them.
        Design design = small("model=4");
        design.model = denseModel(1000, 512, 2048, 4, 12, 3, 64);
        design.strategies.push_back({ "*.q_proj.weight", over(StrategyKind::Rowwise, { "model" }), {} });
        const auto straddling = tolerant(design);
        QVERIFY(ofKind(*straddling, "heads-split").empty());
        for (const Collective& collective : straddling->plan.collectives)
            QVERIFY2(collective.kind == CollectiveKind::LocalSlice || !collective.id.starts_with("block/self_attn.attention"),
                     collective.id.c_str());

        // The stack of 32 + 8 + 8 heads over 3 devices: Q has 11, 11, 10 heads, in groups of 4.
        Design stack = loose("model=3", { { "qkv.weight", { 48 * 16, 64 } } });
        Strategy segmented = over(StrategyKind::Segmented, { "model" });
        segmented.segments = { { 0, 32, 16 }, { 0, 8, 16 }, { 0, 8, 16 } };
        stack.strategies = { { "qkv.weight", segmented, {} } };
        const auto evaluation = tolerant(stack);
        const auto found = ofKind(*evaluation, "heads-split");
        QCOMPARE(found.size(), std::size_t(1));
        QVERIFY(afterRepair(stack, *evaluation, found[0]).isEmpty());
        stack.mesh = Mesh::parse("model=4").value();
        QVERIFY(ofKind(*tolerant(stack), "heads-split").empty());
    }

    void quantisationBlocks()
    {
        // 576 x 512 in blocks of 128 x 128: 5 x 4 scales (the last block of dim 0 is half full).
        Design design = loose("model=3", { { "w.weight", { 576, 512 } }, { "w.weight_scale_inv", { 5, 4 } } });
        design.strategies = { { "*", {}, {} }, { "w.weight", over(StrategyKind::Rowwise, { "model" }), {} } };
        auto evaluation = tolerant(design);
        const auto found = ofKind(*evaluation, "quant-block-split");
        QCOMPARE(found.size(), std::size_t(1));
        QVERIFY(found[0].message.find("blocks of 128 elements (w.weight_scale_inv)") != std::string::npos);
        const Design after = repaired(design, *found[0].fix);
        QCOMPARE(ofKind(*tolerant(after), "quant-block-split").size(), std::size_t(0));
        QCOMPARE(weightOf(*tolerant(after), "w.weight").shards.cuts()[0].count(), 3); // still cut, in whole blocks
        QCOMPARE(weightOf(*tolerant(after), "w.weight").shards.shardAt(0).pieces[0][0], (Range { 0, 256 }));
        // Packed: GPTQ [in / 8, out] with a scale for 128 of in, AWQ [in, out / 8], compressed-tensors [out, in / 8], NVFP4 [out,
        // in / 2] with one for 16, MXFP4 blocks of 32. Cut in 3, none of them keeps its blocks whole; in 2 all do.
        const std::pair<const char*, std::vector<std::pair<std::string, Shape>>> packed[] = {
            { "P('model', None)", { { "w.qweight", { 64, 96 } }, { "w.scales", { 4, 96 } } } },
            { "P('model', None)", { { "w.qweight", { 512, 12 } }, { "w.scales", { 4, 96 } } } },
            { "P(None, 'model')", { { "w.weight_packed", { 96, 64 } }, { "w.weight_scale", { 96, 4 } } } },
            { "P(None, 'model')", { { "w.weight", { 96, 256 } }, { "w.weight_scale", { 96, 32 } } } },
            { "P('model', None)", { { "down_blocks", { 128, 16 } }, { "down_scales", { 4, 16 } } } },
        };
        for (const auto& [spec, weights] : packed)
            for (const int devices : { 2, 3 }) {
                Design each = loose(devices == 2 ? "model=2" : "model=3", weights);
                Strategy strategy;
                strategy.kind = StrategyKind::Spec;
                strategy.spec = spec;
                each.strategies = { { weights.front().first, strategy, CutRule::Balanced } };
                const auto split = ofKind(*tolerant(each), "quant-block-split");
                QVERIFY2(split.size() == (devices == 2 ? 0u : 1u), weights.front().first.c_str());
                if (devices == 3)
                    QVERIFY(split[0].repair.find("vLLM and SGLang") != std::string::npos);
            }
        // Scales on other axes than their weight.
        design = loose("a=2,b=2", { { "w.weight", { 512, 512 } }, { "w.weight_scale", { 4, 4 } } });
        design.strategies = { { "w.weight", over(StrategyKind::Rowwise, { "a" }), {} },
                              { "*_scale", over(StrategyKind::Rowwise, { "b" }), {} } };
        evaluation = tolerant(design);
        QCOMPARE(ofKind(*evaluation, "quant-block-split", "w.weight_scale").size(), std::size_t(1));
        QVERIFY(afterRepair(design, *evaluation, ofKind(*evaluation, "quant-block-split")[0]).isEmpty());
        // One scale for each row, or for all: no blocks.
        design = loose("model=3", { { "w.weight", { 512, 512 } }, { "w.weight_scale", { 512, 1 } } });
        design.strategies = { { "*", over(StrategyKind::Rowwise, { "model" }), {} } };
        QVERIFY(ofKind(*tolerant(design), "quant-block-split").empty());
    }

    void whatMaxWouldDo()
    {
        Design design = loose(
            "model=4", { { "qkv.weight", { 3 * 30 * 64, 32 } }, { "qkv.bias", { 3 * 30 * 64 } }, { "w.weight", { 1002, 8 } } });
        Strategy stacked = over(StrategyKind::StackedQkv, { "model" });
        stacked.numHeads = 30;
        stacked.headDim = 64;
        design.strategies = { { "*", over(StrategyKind::Rowwise, { "model" }), {} }, { "qkv.weight", stacked, {} } };
        auto evaluation = tolerant(design);
        const auto bias = ofKind(*evaluation, "max-defect", "qkv.bias");
        QCOMPARE(bias.size(), std::size_t(1));
        QCOMPARE(bias[0].severity, Severity::Warning);
        const Design after = repaired(design, *bias[0].fix);
        QCOMPARE(weightOf(*tolerant(after), "qkv.bias").strategy, stacked);
        QVERIFY(ofKind(*tolerant(after), "max-defect", "qkv.bias").empty());
        // 1002 rows over 4: 251, 251, 250, 250, and MAX writes down 250. Told with what else comes of it.
        QVERIFY(ofKind(*evaluation, "uneven", "w.weight")[0].message.find("out dim of 250") != std::string::npos);
        QVERIFY(ofKind(*evaluation, "max-defect", "w.weight").empty());
    }

    void axisNobodyUses()
    {
        Design design = small("data=2,pod=3");
        design.strategies = { { "*", {}, {} }, { "tokens", spec("P('data')"), {} } };
        design.workload.batch = 12;
        const auto evaluation = tolerant(design);
        const auto unused = ofKind(*evaluation, "unused-axis");
        QCOMPARE(unused.size(), std::size_t(1));
        QCOMPARE(unused[0].where, std::string("pod"));
        const Design after = repaired(design, *unused[0].fix);
        QCOMPARE(layoutText(after, "tokens"), std::string("P(('data', 'pod'))"));
        QVERIFY(ofKind(*tolerant(after), "unused-axis").empty());
    }

    /// 10 layers on 4 stages: 3, 3, 2, 2; in two runs each 2, 2, 1, 1, 1, 1, 1, 1. Of the 12 places that 3 a stage make, 2 stay
    /// empty.
    void stagesThatDoNotDivide()
    {
        Design design = small("data=2,stage=4");
        design.model.layers = 10;
        design.workload = { WorkloadKind::Train, 32, 16, DType::BF16, 4, Recompute::None };
        for (const char* preset : { "pp-1f1b", "pp-interleaved" }) {
            QVERIFY(applyPreset(design, preset).ok());
            const auto uneven = ofKind(*tolerant(design), "uneven-stages");
            QCOMPARE(uneven.size(), std::size_t { 1 });
            QCOMPARE(uneven[0].severity, Severity::Note);
            QCOMPARE(QString::fromStdString(uneven[0].message),
                     QString("10 layers do not divide by 4 stages: stages 0 to 1 hold 3 each, stages 2 to 3 hold 2 each; the "
                             "others wait for the "
                             "fullest, 17 % of all time in which layers run, the bubble aside"));
        }
        design.model.layers = 12;
        QVERIFY(applyPreset(design, "pp-1f1b").ok());
        QVERIFY(ofKind(*tolerant(design), "uneven-stages").empty());
        QVERIFY(ofKind(*tolerant(design), "cut-over-stages").empty());
    }

    void cutsOverStages()
    {
        Design design = small("data=2,stage=4");
        design.workload = { WorkloadKind::Train, 32, 16, DType::BF16, 4, Recompute::None };
        QVERIFY(applyPreset(design, "pp-1f1b").ok());
        const auto before = tolerant(design);
        StrategyEntry tokens { "tokens", { StrategyKind::Spec, {}, 0, "P(('data', 'stage'))" }, {} };
        StrategyEntry down { "*.down_proj.weight", { StrategyKind::Rowwise, { "stage" }, 0, "" }, {} };
        design.strategies.push_back(tokens);
        design.strategies.push_back(down);
        design.pins.push_back(parsePin("residual:batch=stage").value());
        const auto evaluation = tolerant(design);
        const auto found = ofKind(*evaluation, "cut-over-stages");
        QCOMPARE(found.size(), std::size_t { 3 });
        for (const DesignFinding& finding : found) {
            QCOMPARE(finding.severity, Severity::Warning);
            QVERIFY2(finding.message.find("mesh axis 'stage', along which the pipeline's stages are arranged") != std::string::npos,
                     finding.message.c_str());
            if (finding.fix)
                QCOMPARE(afterRepair(design, *evaluation, finding), QString());
        }
        QCOMPARE(std::ranges::count_if(found, [](const DesignFinding& f) { return f.fix.has_value(); }), 2);
        // The plan is the one without these cuts.
        QCOMPARE(evaluation->plan.memory.peak, before->plan.memory.peak);
        QCOMPARE(evaluation->plan.collectives.size(), before->plan.collectives.size());
    }

    /// What training needs is told by its causes.
    void tooMuchForTraining()
    {
        Design design = small("data=2");
        design.model = denseModel(100000, 8192, 28672, 40, 64, 8, 128);
        design.workload = { WorkloadKind::Train, 2, 8192, DType::BF16, 1, Recompute::None };
        const auto found = ofKind(*tolerant(design), "over-memory");
        QCOMPARE(found.size(), std::size_t { 1 });
        for (const char* cause : { " weights", " f32 copy of the weights", " optimizer state", " activations" })
            QVERIFY2(found[0].message.find(cause) != std::string::npos, found[0].message.c_str());
    }

    void pinsThatDoNothing_data()
    {
        QTest::addColumn<QString>("pin");
        QTest::addColumn<QString>("message"); ///< empty: no finding
        QTest::addColumn<QString>("fix");
        const auto row = [](const char* pin, const char* message, const char* fix) { QTest::newRow(pin) << pin << message << fix; };
        row("*:batch=data", "", "");
        row("*:batch=dat", "the mesh has no axis 'dat'", "Remove the pin *:batch=dat");
        row("*:batch=data,dat", "the mesh has no axis 'dat'", "Make the pin *:batch=data");
        row("*:batch=a;whole=b", "the mesh has no axis 'a' and no axis 'b'", "Remove the pin *:batch=a;whole=b");
        row("residue:batch=data", "the pattern matches no activation", "Remove the pin residue:batch=data");
        row("residual:heads=model", "no activation that it names has a dim 'heads'", "Remove the pin residual:heads=model");
        row("self_attn.attn@model=R R R -> R", "the pattern matches no operation",
            "Remove the pin self_attn.attn@model=R R R -> R");
        row("self_attn.attention@modle=R R R -> R", "the mesh has no axis 'modle'",
            "Remove the pin self_attn.attention@modle=R R R -> R");
        row("self_attn.attention@model=S3 R R -> R", "self_attn.attention has no row S3 R R -> R",
            "Remove the pin self_attn.attention@model=S3 R R -> R");
        row("*.attention@model=R R R -> R", "", "");
    }
    void pinsThatDoNothing()
    {
        QFETCH(QString, pin);
        QFETCH(QString, message);
        QFETCH(QString, fix);
        Design design = small("data=2,model=4");
        design.pins = { parsePin(pin.toStdString()).value() };
        const auto evaluation = tolerant(design);
        const auto found = ofKind(*evaluation, "dead-pin");
        QCOMPARE(found.empty(), message.isEmpty());
        QVERIFY(ofKind(*evaluation, "pin-unmet").empty());
        if (found.empty())
            return;
        QCOMPARE(QString::fromStdString(found.front().message), "pin 1 does nothing: " + message);
        QCOMPARE(found.front().severity, Severity::Warning);
        QCOMPARE(QString::fromStdString(found.front().fix->text), fix);
        QCOMPARE(afterRepair(design, *evaluation, found.front()), QString());
    }

    /// Presets pin what only some workloads have; they are told about where the mesh lacks their axis.
    void presetsPinsAreQuiet()
    {
        Design design = small("data=2,fsdp=2,model=2");
        design.workload.batch = 16;
        for (const char* preset : { "fsdp", "tp-sp", "tp+fsdp" })
            for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode, WorkloadKind::Train }) {
                design.workload.kind = kind;
                QVERIFY(applyPreset(design, preset).ok());
                const auto evaluation = tolerant(design);
                for (const char* found : { "dead-pin", "greedy-moves-activation" })
                    QVERIFY2(ofKind(*evaluation, found).empty(), preset);
            }
        design.workload.kind = WorkloadKind::Prefill;
        QVERIFY(applyPreset(design, "fsdp").ok());
        design.mesh = Mesh::parse("data=2,zero=2,model=2").value();
        design.strategies = { { "*", {}, {} } };
        QCOMPARE(ofKind(*tolerant(design), "dead-pin").front().severity, Severity::Note);
    }

    void pinThatCannotBeMet()
    {
        Design design = small("data=2,model=8"); // 4 KV heads
        design.pins = { parsePin("self_attn.attention@model=S2 S2 S2 -> S2").value() };
        const auto evaluation = tolerant(design);
        const auto found = ofKind(*evaluation, "pin-unmet");
        QCOMPARE(found.size(), std::size_t { 1 });
        QCOMPARE(QString::fromStdString(found[0].message),
                 "pin 1 was ignored at block/self_attn.attention over model: dim 2 (KV heads) of k rotated has 4 elements for 8 "
                 "devices");
        QCOMPARE(afterRepair(design, *evaluation, found[0]), QString());
        QVERIFY(repaired(design, *found[0].fix).pins.empty());
    }

    /// max-sharding 4.3: x 8 x 128 x 4096 of 8 MiB, W 4096 x 11008 of 86 MiB, both cut over dp: greedy moves x.
    void greedyMovesTheActivation()
    {
        Design design;
        design.mesh = Mesh::parse("dp=2,tp=4").value();
        design.model = denseModel(1000, 4096, 11008, 2, 32, 32, 128);
        design.workload = { WorkloadKind::Prefill, 8, 128, DType::BF16 };
        design.strategies = { { "*", {}, {} },
                              { "tokens", spec("P('dp')"), {} },
                              { "*.mlp.gate_proj.weight", spec("P('tp', 'dp')"), {} } };
        const auto evaluation = tolerant(design);
        const auto found = ofKind(*evaluation, "greedy-moves-activation", "dp");
        QCOMPARE(found.size(), std::size_t { 1 });
        QVERIFY2(found[0].message.find("2 operations, first block/mlp.gate_proj") != std::string::npos, found[0].message.c_str());
        QCOMPARE(QString::fromStdString(found[0].fix->text), "Pin the batch over dp");
        QCOMPARE(afterRepair(design, *evaluation, found[0]), QString());
        const auto gathers = [](const Evaluation& it) {
            return std::ranges::count_if(it.plan.collectives, [&](const Collective& c) {
                return c.kind == CollectiveKind::AllGather && it.graph.tensor(c.tensor).role == TensorRole::Weight;
            });
        };
        QCOMPARE(gathers(*evaluation), 0);
        QCOMPARE(gathers(*tolerant(repaired(design, *found[0].fix))), 1);
    }

    void manyOfAKindAreToldInOne()
    {
        std::vector<std::pair<std::string, Shape>> weights;
        for (int i = 0; i < 1000; ++i)
            weights.push_back({ "w" + std::to_string(i), { 1024, 1024 } });
        const auto evaluation = tolerant(loose("model=4", weights));
        const auto found = ofKind(*evaluation, "silently-replicated");
        QCOMPARE(found.size(), std::size_t(201));
        QVERIFY(std::ranges::any_of(found, [](const DesignFinding& f) { return f.message.starts_with("800 more findings"); }));
    }

    void repairsKeepTheirIndices()
    {
        Design design = small("model=4");
        design.strategies = { { "a", {}, {} }, { "b", {}, {} }, { "c", {}, {} } };
        design.rules.rules = { { "r", {}, {} }, { "s", {}, {} } };
        const StrategyEntry other { "x", over(StrategyKind::Rowwise, { "model" }), {} };
        const Design made = repaired(
            design,
            { "",
              { RemoveStrategy { 0 }, ReplaceStrategy { 1, other }, RemoveStrategy { 7 }, ReplaceRule { 0, { "t", {}, {} } },
                InsertRule { 1, { "u", {}, {} } }, InsertRule { 2, { "v", {}, {} } }, InsertRule { 9, { "w", {}, {} } },
                RemoveRule { -1 }, SetStrategy { { "c", other.strategy, CutRule::Strict } }, SetStrategy { { "d", {}, {} } } } });
        QCOMPARE(made.strategies,
                 (std::vector<StrategyEntry> { other, { "c", other.strategy, CutRule::Strict }, { "d", {}, {} } }));
        QCOMPARE(made.rules.rules,
                 (std::vector<LogicalRule> { { "t", {}, {} }, { "u", {}, {} }, { "s", {}, {} }, { "v", {}, {} } }));
        // A wider pattern behind would hide an entry replaced in its place.
        design.strategies = { { "lm_head.weight", {}, {} }, { "*", {}, {} } };
        const Design behind = repaired(design, { "", { SetStrategy { { "lm_head.weight", other.strategy, {} } } } });
        QCOMPARE(behind.strategies, (std::vector<StrategyEntry> { { "*", {}, {} }, { "lm_head.weight", other.strategy, {} } }));
    }

    void indexFindsWhatTryingAllFinds()
    {
        std::mt19937 random(7);
        const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
        const char* parts[] = { "a", "b", "ab", "*", "?", "[ab]", "[!a]", "*.", ".w", "a.", "[", "]", "" };
        const auto word = [&](int kinds) {
            std::string out;
            for (int i = pick(5); i >= 0; --i)
                out += parts[pick(kinds)];
            return out;
        };
        int found = 0;
        for (int trial = 0; trial < 400; ++trial) {
            // Few and many patterns that begin with a wildcard go different ways.
            std::vector<StrategyEntry> entries(static_cast<std::size_t>(pick(trial % 2 ? 20 : 300)));
            for (StrategyEntry& entry : entries)
                entry.match = word(13);
            std::vector<std::string> names;
            for (int i = 0; i < 10; ++i)
                names.push_back(word(3) + (pick(2) ? ".w" : ""));
            const EntryIndex index(entries);
            std::vector<bool> matching(entries.size(), false);
            for (const std::string& name : names) {
                int last = -1;
                for (std::size_t i = 0; i < entries.size(); ++i)
                    if (globMatch(entries[i].match, name)) {
                        last = static_cast<int>(i);
                        matching[i] = true;
                    }
                QCOMPARE(index.deciding(name), last);
                found += last >= 0;
            }
            QVERIFY(index.matchingAny(names) == matching);
        }
        QVERIFY(found > 1000);
    }

    /// In random designs, some of them nonsense, every repair removes its finding and makes no error.
    void repairsRemoveWhatTheyRepair()
    {
        std::mt19937 random(11);
        const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
        const char* matches[] = { "*",
                                  "*.q_proj.weight",
                                  "model.layers.1.*",
                                  "tokens",
                                  "lm_head.weight",
                                  "*norm*",
                                  "*.[ku]*_proj.weight",
                                  "*_proj.weight",
                                  "model.layers.*.self_attn.k_proj.weight",
                                  "typo" };
        const char* specs[] = { "P('data')",
                                "P(None,'model')",
                                "P(('model','data'))",
                                "P('model','data')",
                                "P()",
                                "P('x')",
                                "P(",
                                "P('data',unreduced={'model'})",
                                "P('model','model')",
                                "P(None,None,'data')" };
        const char* meshes[] = { "data=2,model=4", "data=3,model=2,x=2", "model=8", "data=1,model=16", "data=600,model=3" };
        const char* names[] = { "embed",       "mlp",   "q_heads",
                                "kv_heads",    "heads", "vocab",
                                "embed_vocab", "norm",  "activation_embed_and_logits_batch" };
        const char* axes[] = { "data", "model", "x", "ghost" };
        std::map<std::string, int> kinds;
        for (int trial = 0; trial < 500; ++trial) {
            Design design = small(meshes[pick(5)]);
            design.strategies.clear();
            design.model.tiedEmbeddings = pick(2);
            design.model.attentionBias = static_cast<AttentionBias>(pick(3));
            constexpr StrategyKind kAll[] { StrategyKind::Replicate,  StrategyKind::Rowwise, StrategyKind::Columnwise,
                                            StrategyKind::Axiswise,   StrategyKind::Spec,    StrategyKind::HeadAwareColumnwise,
                                            StrategyKind::StackedQkv, StrategyKind::GateUp,  StrategyKind::TensorParallel };
            for (int i = pick(6); i-- > 0;) {
                Strategy strategy = over(kAll[pick(9)], { axes[pick(4)] });
                if (pick(3) == 0)
                    strategy.axes.push_back(axes[pick(4)]);
                strategy.dim = pick(5) - 2;
                strategy.numHeads = 8;
                strategy.headDim = pick(2) ? 64 : 32;
                strategy.spec = specs[pick(10)];
                constexpr CutRule kCuts[] { CutRule::Strict, CutRule::Balanced, CutRule::CeilFlat, CutRule::GrainBalanced };
                design.strategies.push_back(
                    { matches[pick(10)], strategy, pick(2) ? std::optional(kCuts[pick(4)]) : std::nullopt });
            }
            for (int i = pick(3) ? pick(12) : 0; i-- > 0;) {
                LogicalRule rule { names[pick(9)], {}, {} };
                for (int j = pick(4); j-- > 0;)
                    rule.axes.push_back(axes[pick(4)]);
                design.rules.rules.push_back(rule);
            }
            const auto evaluation = evaluate(design, Misfits::Replicate);
            QVERIFY2(evaluation.ok(), evaluation.ok() ? "" : evaluation.error().text().c_str());
            for (const DesignFinding& finding : evaluation.value()->findings) {
                QVERIFY(!finding.message.empty() && !finding.repair.empty());
                QVERIFY(finding.costBytes >= 0);
                if (!finding.fix)
                    continue;
                ++kinds[finding.kind];
                const QString wrong = afterRepair(design, *evaluation.value(), finding);
                QVERIFY2(wrong.isEmpty(), qPrintable("trial " + QString::number(trial) + ": " + wrong));
            }
            // Strict evaluation refuses just the designs that have a misfit.
            const bool misfit =
                std::ranges::any_of(evaluation.value()->weights, [](const WeightLayout& w) { return w.misfit.has_value(); });
            QCOMPARE(evaluate(design).ok(), !misfit);
        }
        for (const char* kind : { "unknown-axis", "axis-twice", "dim-out-of-range", "indivisible", "overflow", "structure",
                                  "partial", "not-planned", "unreadable", "silently-replicated", "replicated", "heads-split",
                                  "dead-rule", "outside-mesh", "no-rule", "unused-axis", "unused-entry" })
            QVERIFY2(kinds[kind] > 0, kind);
    }

    /// A setting that does nothing says so, with the reason.
    void idleSettings()
    {
        const Design plain =
            designOn("stage=2,fsdp=4", llama3Model(), { WorkloadKind::Train, 16, 1024, DType::BF16, 4 }, "pp+fsdp");
        QVERIFY(ofKind(*evaluated(plain), "idle-setting").empty());
        const std::pair<const char*, std::function<void(Design&)>> settings[] {
            { "recompute of 3 layers changes nothing: nothing is computed again",
              [](Design& d) { d.workload.recomputeLayers = 3; } },
            { "recompute of 17 layers changes nothing: no run of layers has more than 16",
              [](Design& d) {
                  d.workload.recompute = Recompute::Full;
                  d.workload.recomputeLayers = 17;
              } },
            { "recompute of one layer in 3 changes nothing: nothing is computed again",
              [](Design& d) { d.workload.recomputeEvery = 3; } },
            { "recompute of one layer in 17: no stage has so many layers that count, and none computes again",
              [](Design& d) {
                  d.workload.recompute = Recompute::Full;
                  d.workload.recomputeEvery = 17;
              } },
            { "overlap host changes nothing: nothing is offloaded",
              [](Design& d) { d.workload.overlap = *overlapFromName("host"); } },
            { "overlap tensor changes nothing: no activations move",
              [](Design& d) { d.workload.overlap = *overlapFromName("tensor"); } },
            { "overlap context changes nothing: no attention waits",
              [](Design& d) { d.workload.overlap = *overlapFromName("weights,context"); } },
            { "order of context in-order changes nothing", [](Design& d) { d.workload.contextOrder = ContextOrder::InOrder; } },
            { "offload of 3 layers changes nothing: nothing is offloaded", [](Design& d) { d.workload.offload.layers = 3; } },
            { "offload of 99 layers: no run of layers has more than 16, and all of them are offloaded",
              [](Design& d) {
                  d.workload.offload = { *offloadFromName("activations"), 99 };
              } },
            { "recompute experts changes nothing", [](Design& d) { d.workload.recompute = *recomputeFromName("experts"); } },
            { "recompute latent-up changes nothing", [](Design& d) { d.workload.recompute = *recomputeFromName("latent-up"); } },
            { "overlap experts changes nothing", [](Design& d) { d.workload.overlap = *overlapFromName("experts"); } },
            { "dispatch per-node changes nothing", [](Design& d) { d.workload.dispatch = Dispatch::PerNode; } },
            { "the capacity factor changes nothing", [](Design& d) { d.workload.capacityFactor = 2; } },
            { "precision cache changes nothing", [](Design& d) { d.workload.precision.cache = DType::F32; } },
            { "optimizer states cut over 'stage' changes nothing", [](Design& d) { d.workload.optimizer.axes = { "stage" }; } },
            { "CUDA graphs changes nothing: the device is no GPU",
              [](Design& d) {
                  d.workload.graphs = true;
                  d.hardware = "tpu-v5p-4x4x4";
              } },
            { "products in f8e4m3 changes nothing: the device has no units for fp8",
              [](Design& d) {
                  d.workload.dtype = DType::F8E4M3;
                  d.hardware = "dgx-a100";
              } },
            { "fp8 recipe mxfp8: the device has no units",
              [](Design& d) {
                  d.workload.dtype = DType::F8E4M3;
                  d.workload.fp8.recipe = Fp8Recipe::Mxfp8;
              } },
            { "fp8 recipe rowwise changes nothing: products are in bf16",
              [](Design& d) { d.workload.fp8.recipe = Fp8Recipe::Rowwise; } },
        };
        for (const auto& [message, set] : settings) {
            Design design = plain;
            set(design);
            const auto found = ofKind(*evaluated(design), "idle-setting");
            QCOMPARE(found.size(), std::size_t(1));
            QVERIFY2(found.front().message.starts_with(message), found.front().message.c_str());
            QVERIFY(!isDefect(found.front()));
        }
        Design whole = plain;
        whole.pipeline = {};
        whole.workload.overlap = *overlapFromName("sends");
        QCOMPARE(ofKind(*evaluated(whole), "idle-setting").size(), std::size_t(1));
        whole.workload.overlap = Overlap::All; // names no kind
        QVERIFY(ofKind(*evaluated(whole), "idle-setting").empty());
        Design alone = designOn("model=2", llama3Model(), { WorkloadKind::Train, 2, 1024, DType::BF16 }, "megatron-tp");
        const std::pair<const char*, std::function<void(Design&)>> weights[] {
            { "overlap weights changes nothing: no weights are gathered",
              [](Design& d) { d.workload.overlap = Overlap::Weights; } },
            { "when gathered weights are given back changes nothing", [](Design& d) { d.memory.reshardAfterForward = false; } },
            { "collectives of a block changes nothing", [](Design& d) { d.memory.groupCollectives = true; } },
            { "gathers in fp8 changes nothing: no weights are gathered",
              [](Design& d) {
                  d.workload.dtype = DType::F8E4M3;
                  d.workload.fp8 = { Fp8Recipe::Mxfp8, true };
                  d.hardware = "dgx-b200";
              } },
        };
        for (const auto& [message, set] : weights) {
            Design design = alone;
            set(design);
            const auto found = ofKind(*evaluated(design), "idle-setting");
            QCOMPARE(found.size(), std::size_t(1));
            QVERIFY2(found.front().message.starts_with(message), found.front().message.c_str());
        }
    }

    /// What lies on the host is held against a device's share of the host's memory, where that is known.
    void hostMemory()
    {
        Design design = designOn("fsdp=8", llama3Model(), { WorkloadKind::Train, 16, 1024, DType::BF16 }, "fsdp");
        const auto found = [&](const char* kind) { return ofKind(*evaluated(design), kind); };
        QVERIFY(found("over-host-memory").empty() && found("host-memory-unknown").empty());
        design.workload.offload.what = *offloadFromName("optimizer,weights");
        QVERIFY(found("over-host-memory").empty() && found("host-memory-unknown").empty()); // 256 GiB a device
        design.hardware = "mi300x";
        QCOMPARE(found("host-memory-unknown").size(), std::size_t(1));
        QVERIFY(!isDefect(found("host-memory-unknown").front()));
        design.hardware = "dgx-spark"; // nothing is moved there
        QVERIFY(found("over-host-memory").empty() && found("host-memory-unknown").empty());
        Hardware small = findHardware("dgx-h100").value();
        const std::int64_t needed = evaluated(designOn("fsdp=8", llama3Model(), design.workload, "fsdp"))->plan.memory.host;
        for (const std::int64_t bytes : { needed, needed - 1 }) {
            small.device.host->memoryBytes = static_cast<double>(bytes);
            design.hardware = small.id;
            design.ownHardware = small;
            QCOMPARE(found("over-host-memory").size(), std::size_t(bytes < needed ? 1 : 0));
        }
        QVERIFY(isDefect(found("over-host-memory").front()));
        QCOMPARE(found("over-host-memory").front().costBytes, 1);
    }

    /// Where the peak fits and the allocator's worst does not, it is a note.
    void tightMemoryIsNoted()
    {
        Design design =
            designOn("fsdp=8", llama3Model(), { WorkloadKind::Train, 24, 8192, DType::BF16, 1, Recompute::Full }, "fsdp");
        design.memory.choose(Framework::TorchTitan);
        const auto evaluation = evaluated(design);
        const auto limit = static_cast<std::int64_t>(findHardware("dgx-h100").value().memoryBytes());
        QVERIFY(evaluation->plan.memory.peak <= limit && evaluation->plan.memory.most > limit);
        const auto found = ofKind(*evaluation, "tight-memory");
        QCOMPARE(found.size(), std::size_t(1));
        QVERIFY(!isDefect(found.front()));
        QCOMPARE(found.front().costBytes, evaluation->plan.memory.most - limit);
    }
};

SHARDBOARD_TEST(TestFindings)
#include "tst_findings.moc"
