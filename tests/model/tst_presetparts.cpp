// SPDX-License-Identifier: Apache-2.0
// Presets from parts: any combination of parallelisms, what contradicts itself, and what each part makes of a layer.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/design/presets/relaid.h"
#include "model/text/contains.h"
#include "model/text/text.h"
#include "tests/support/datarow.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <map>

using namespace shardboard;

namespace {

/// Of experts every fourth layer's worth: 8 of them, 2 chosen.
void addExperts(ModelSpec& model, int shared)
{
    model.moe.experts = 8;
    model.moe.chosen = 2;
    model.moe.intermediateSize = 512;
    model.moe.sharedExperts = shared;
}

/// A dense decoder, one with biases and norms of heads, one with four norms, one with experts, and one with latent attention and
/// shared experts beside the routed ones.
ModelSpec modelOf(int kind)
{
    ModelSpec model = denseModel(4096, 1024, 4096, 4, 16, 8, 64);
    if (kind == 1) {
        model.qkNorm = true;
        model.attentionBias = AttentionBias::Qkvo;
    }
    if (kind == 2)
        model.norm.perLayer = 4;
    if (kind >= 3)
        addExperts(model, kind == 4 ? 1 : 0);
    if (kind == 4) {
        model.kvHeads = model.heads;
        model.mla = { 96, 128, 48, 16, 32 };
    }
    return model;
}

Design designWith(const std::string& mesh, const std::string& preset, int kind = 0)
{
    return designOn(mesh, modelOf(kind), { WorkloadKind::Train, 64, 2048, DType::BF16, 4 }, preset);
}

/// `2 all-gather over model` for the collectives of a phase of a layer; local slices move nothing.
QStringList collectivesOf(const Evaluation& evaluation, Phase phase, const std::string& layer, bool ofWeights)
{
    std::map<QString, int> count;
    for (const Collective& collective : evaluation.plan.collectives) {
        const PlannedSegment& segment = evaluation.plan.segment(collective.plannedSegment);
        const TensorRole role = evaluation.graph.tensor(collective.tensor).role;
        const bool ofWeight = role == TensorRole::Weight || evaluation.graph.op(collective.op).kind == OpKind::ReduceGrad;
        if (segment.phase != phase || segment.name != layer || collective.kind == CollectiveKind::LocalSlice
            || ofWeight != ofWeights)
            continue;
        QStringList axes;
        for (const int axis : collective.axes)
            axes << QString::fromStdString(evaluation.plan.mesh.axis(axis).name);
        ++count[QString::fromStdString(collectiveName(collective.kind)) + " over " + axes.join("+")];
    }
    QStringList out;
    for (const auto& [what, times] : count)
        out << QString::number(times) + " " + what;
    return out;
}

/// The parts' mesh axes, two devices on each.
std::string meshFor(const std::string& name)
{
    std::vector<std::string> axes;
    const auto has = [&](std::string_view part) { return contains(split(std::string_view(name), '+'), part); };
    const auto add = [&](bool wanted, const char* axis) {
        if (wanted)
            axes.push_back(std::string(axis) + "=2");
    };
    add(has("pp") || has("pp-interleaved"), "stage");
    add(has("hsdp") || has("hsdp-cp") || has("dp"), "data");
    add(has("fsdp") || has("fsdp-cp") || has("hsdp") || has("hsdp-cp"), "fsdp");
    add(has("ep"), "expert");
    add(has("cp-ring") || has("cp-all-gather") || has("cp-ulysses"), "context");
    add(has("tp") || has("tp-sp") || has("megatron-tp"), "model");
    return joined(axes, ",");
}

/// Every combination that contradicts nothing.
std::vector<std::string> combinations(bool experts)
{
    std::vector<std::vector<std::string>> out { {} };
    std::vector<std::string> groups;
    for (const PresetPart& part : presetParts())
        if (!contains(groups, std::string(part.group)))
            groups.emplace_back(part.group);
    for (const std::string& group : groups) {
        std::vector<std::vector<std::string>> more;
        for (const auto& parts : out)
            for (const PresetPart& part : presetParts())
                if (part.group == group) {
                    more.push_back(parts);
                    more.back().emplace_back(part.name);
                }
        out.insert(out.end(), more.begin(), more.end());
    }
    std::vector<std::string> names;
    for (const auto& parts : out) {
        const std::string name = joined(parts, "+");
        if (presetFactsOf(name).ok() && contains(parts, std::string("ep")) == experts)
            names.push_back(presetFactsOf(name).value().name);
    }
    return names;
}

} // namespace

class TestPresetParts : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void names_data()
    {
        QTest::addColumn<QString>("asked");
        QTest::addColumn<QString>("name");
        const auto row = [](const char* asked, const char* name) { QTest::newRow(asked) << asked << name; };
        row("tp", "megatron-tp");
        row("fsdp+tp", "tp+fsdp");
        row("megatron-tp+fsdp", "tp+fsdp");
        row("fsdp+tp-sp", "tp-sp+fsdp");
        row("tp+ep", "ep+tp");
        row("ep+etp+tp", "ep+tp");
        row("tp-sp+cp-ring+pp-interleaved", "pp-interleaved+cp-ring+tp-sp");
        row("pp-1f1b+tp", "pp+tp");
        row("fsdp-cp+tp-sp+cp-all-gather", "cp-all-gather+tp-sp+fsdp-cp");
        row(" dp + tp", "tp+dp");
        row("ep+etp+tp-sp+fsdp", "ep+etp+tp-sp+fsdp");
    }
    /// In whatever order; what has a name of its own keeps it.
    void names()
    {
        QFETCH(QString, asked);
        QTEST(QString::fromStdString(sure(presetFactsOf(asked.toStdString())).name), "name");
    }

    void contradictions_data()
    {
        QTest::addColumn<QString>("asked");
        QTest::addColumn<QString>("error");
        const auto row = [](const char* asked, const char* error) { QTest::newRow(asked) << asked << error; };
        row("cp-ring+tp+cp-ulysses",
            "--preset: preset cp-ring+tp+cp-ulysses: cp-ring and cp-ulysses are two forms of context parallel; keep one of them");
        row("tp+megatron-tp", "--preset: preset tp+megatron-tp: part tp is there twice; name it once");
        row("etp+tp-sp",
            "--preset: preset etp+tp-sp: etp cuts each expert, and no part says which device has which; add ep, or leave etp out");
        row("etp+ep",
            "--preset: preset etp+ep: etp cuts experts over the tensor axes, and no part uses those; add tp-sp, or leave etp out");
        row("fsdp-cp+tp",
            "--preset: preset fsdp-cp+tp: fsdp-cp shards weights over the context axes, and no part uses those;"
            " add cp-ring, cp-all-gather or cp-ulysses, or use fsdp");
        row("pp+replicate",
            "--preset: preset pp+replicate: replicate leaves all weights whole, and is no part;"
            " use dp for the axes that cut only the batch");
        row("tp+", "--preset: preset tp+: a part is missing beside a '+'; name one, or leave the '+' out");
        row("tp+cp-rng",
            "--preset: preset tp+cp-rng has a part 'cp-rng', which there is not; did you mean 'cp-ring'? parts are pp,"
            " pp-interleaved, ep, etp, cp-ring, cp-all-gather, cp-ulysses, tp, tp-sp, fsdp, fsdp-cp, hsdp, hsdp-cp, dp");
    }
    void contradictions()
    {
        QFETCH(QString, asked);
        QTEST(QString::fromStdString(presetFactsOf(asked.toStdString()).error().text()), "error");
        QVERIFY(presetFactsOf(asked.toStdString()).error().code == ErrorCode::Usage);
    }

    void typosAreGuessed()
    {
        for (const auto& [typo, meant] :
             { std::pair { "fdsp", "'fsdp'" }, { "megatron", "'megatron-tp'" }, { "TP-SP", "'tp-sp'" } })
            QVERIFY2(presetFactsOf(typo).error().text().find(std::string("did you mean ") + meant) != std::string::npos, typo);
        QVERIFY(presetFactsOf("zero").error().text().find("did you mean") == std::string::npos);
        QVERIFY(!presetFactsOf(std::string(100000, '+')).ok());
    }

    void axesThatAreMissing()
    {
        Design design = designWith("data=8", "replicate");
        const auto error = [&](const char* preset) { return QString::fromStdString(applyPreset(design, preset).error().text()); };
        QCOMPARE(error("pp+fsdp"), QString("--mesh: preset pp+fsdp finds no mesh axis for stages in data=8; name one stage or pp"));
        QCOMPARE(error("ep+fsdp"), QString("--preset: preset ep+fsdp cuts experts, and dense has none; leave the part ep out"));
        design.mesh = sure(Mesh::parse("model=8"));
        QCOMPARE(error("tp+dp"),
                 QString("--mesh: preset tp+dp finds no mesh axis for data parallel in model=8; name one data or dp"));
    }

    /// Every combination plans on every kind of model: no operation leaves a pin unmet, and weights come out whole or cut as the
    /// parts say.
    void everyCombinationPlans_data()
    {
        QTest::addColumn<int>("kind");
        for (const int kind : { 0, 1, 2, 3, 4 })
            QTest::addRow("model %d", kind) << kind;
    }
    void everyCombinationPlans()
    {
        QFETCH(int, kind);
        int planned = 0;
        for (const bool experts : { false, true })
            for (const std::string& name : combinations(experts)) {
                if (experts && kind < 3)
                    continue;
                Design design = designWith(meshFor(name), "replicate", kind);
                const auto notes = applyPreset(design, name);
                QVERIFY2(notes.ok() && notes.value().empty(),
                         (name + ": " + (notes.ok() ? joined(notes.value()) : notes.error().text())).c_str());
                const auto evaluation = evaluate(design);
                QVERIFY2(evaluation.ok(), name.c_str());
                for (const PlannedSegment& segment : evaluation.value()->plan.segments)
                    for (const PlannedOp& op : segment.ops)
                        QVERIFY2(op.unmet.empty(), (name + ": " + evaluation.value()->graph.op(op.op).name).c_str());
                QVERIFY2(name.find("pp") == std::string::npos || evaluation.value()->plan.pipeline, name.c_str());
                ++planned;
            }
        QVERIFY(planned > (kind < 3 ? 150 : 400));
    }

    /// Sequence parallel beside context parallel: the same collectives over the tensor axis as without it (arXiv 2205.05198), the
    /// same over the context axis as without sequence parallel, and nothing else.
    void sequenceBesideContext()
    {
        const auto both = evaluated(designWith("context=2,model=2", "cp-all-gather+tp-sp"));
        QCOMPARE(collectivesOf(*both, Phase::Forward, "block", false),
                 (QStringList { "2 all-gather over context", "2 all-gather over model", "2 reduce-scatter over model" }));
        QCOMPARE(collectivesOf(*both, Phase::Backward, "block", false),
                 (QStringList { "2 all-gather over context", "4 all-gather over model", "2 reduce-scatter over context",
                                "2 reduce-scatter over model" }));
        const auto plain = evaluated(designWith("context=2,model=2", "cp-all-gather+tp"));
        QVERIFY(both->plan.memory.kept < plain->plan.memory.kept); // norms' inputs and outputs are cut further
    }

    /// Weights are gathered over fsdp and context together, and their gradients summed so, as in TorchTitan.
    void weightsOverContext()
    {
        const auto it = evaluated(designWith("fsdp=2,context=2", "cp-ring+fsdp-cp"));
        // q, k, v, o, gate, up, down, two norms
        QCOMPARE(collectivesOf(*it, Phase::Forward, "block", true), QStringList { "9 all-gather over fsdp+context" });
        QCOMPARE(collectivesOf(*it, Phase::Backward, "block", true),
                 (QStringList { "9 all-gather over fsdp+context", "9 reduce-scatter over fsdp+context" }));
        const auto plain = evaluated(designWith("fsdp=2,context=2", "cp-ring+fsdp"));
        QCOMPARE(plain->plan.memory.weights, 2 * it->plan.memory.weights);
    }

    /// Of experts nothing is left whole: an expert's weights are cut over fsdp, all others over fsdp and expert axes.
    void expertsAreShardedFully()
    {
        for (const char* preset : { "ep+fsdp", "ep+etp+tp-sp+fsdp", "ep+tp-sp+fsdp", "pp+ep+fsdp" }) {
            Design design = designWith(std::string(preset).starts_with("pp")  ? "stage=2,fsdp=2,expert=4"
                                           : std::string(preset) == "ep+fsdp" ? "fsdp=4,expert=4"
                                                                              : "fsdp=2,expert=2,model=2",
                                       preset, 3);
            const auto it = evaluated(design);
            for (const WeightLayout& weight : it->weights) {
                const bool router =
                    weight.spec.name.ends_with("mlp.gate.weight") || weight.spec.name.find("router") != std::string::npos;
                if (router || weight.spec.role != TensorRole::Weight || weight.spec.shape.size() < 2)
                    continue;
                const std::int64_t devices = design.mesh.deviceCount() / (it->plan.pipeline ? it->plan.pipeline->stages : 1);
                QVERIFY2(weight.shards.distinctCount() == devices, (std::string(preset) + " " + weight.spec.name).c_str());
            }
        }
        // What `ep` leaves whole over fsdp.
        const auto before = evaluated(designWith("fsdp=4,expert=4", "ep", 3));
        const auto after = evaluated(designWith("fsdp=4,expert=4", "ep+fsdp", 3));
        QVERIFY(2 * after->plan.memory.weights < before->plan.memory.weights);
    }

    /// Experts dealt out over the tensor axis as well: tokens go to them from where the sequence is cut, four all-to-alls over each
    /// of both axes, and nothing is gathered around the experts. Megatron-LM with an expert tensor parallel size of 1 does the
    /// same.
    void expertsOverTensorAxes()
    {
        for (const int kind : { 3, 4 }) {
            const auto it = evaluated(designWith("expert=2,model=2", "ep+tp-sp", kind));
            const QStringList forward = collectivesOf(*it, Phase::Forward, "moe block", false);
            QVERIFY2(forward.contains("2 all-to-all over expert") && forward.contains("2 all-to-all over model"),
                     qPrintable(forward.join(", ")));
            // attention's; a shared expert is cut as an MLP is
            QVERIFY2(forward.contains(kind == 3 ? "1 all-gather over model" : "2 all-gather over model"),
                     qPrintable(forward.join(", ")));
            QVERIFY2(forward.contains(kind == 3 ? "1 reduce-scatter over model" : "2 reduce-scatter over model"),
                     qPrintable(forward.join(", ")));
            QCOMPARE(forward.size(), 4);
        }
        // As many devices as experts do not divide: they stay whole over the tensor axis, and tokens where they are.
        Design odd = designWith("expert=2,model=2", "replicate", 3);
        odd.model.moe.experts = 6;
        const auto notes = sure(applyPreset(odd, "ep+tp-sp"));
        QCOMPARE(notes.size(), std::size_t { 1 });
        QVERIFY(evaluate(odd).ok());
    }

    /// A design that a combination laid out is recognized, and follows the batch.
    void combinationsAreRecognised()
    {
        for (const char* preset : { "pp+tp-sp+fsdp", "cp-ring+tp-sp+fsdp-cp", "ep+tp-sp+fsdp", "tp+dp", "pp+cp-ulysses+tp+hsdp" }) {
            const bool experts = std::string(preset).starts_with("ep");
            Design design = designWith("stage=2,data=2,fsdp=2,expert=2,context=2,model=2", preset, experts ? 3 : 0);
            QCOMPARE(originOfEntries(design).preset, preset);
            QVERIFY(!relaidByPreset(design));
            design.workload.batch = 4; // a micro-batch is one sequence, which no axis cuts
            const auto relaid = relaidByPreset(design);
            QVERIFY2(relaid, preset);
            QCOMPARE(relaid->preset, preset);
        }
        QCOMPARE(originOfEntries(designWith("stage=2,data=2,model=2", "pp+tp")).preset, "pp+tp"); // as pp-1f1b, but for pins
    }

    /// Thousands of combinations in a file's pins do not make every edit try them.
    void fewCombinationsAreTried()
    {
        Design design = designWith("data=2,model=2", "megatron-tp");
        for (const std::string& name : combinations(false)) {
            Pin pin = sure(parsePin("*:batch=data"));
            pin.source = "preset " + name;
            design.pins.push_back(std::move(pin));
        }
        QCOMPARE(presetsOf(design).size(), presetNames().size() + 4);
        design.pins.resize(1);
        design.pins[0].source = "preset of nobody";
        QCOMPARE(presetsOf(design), presetNames());
    }
};

SHARDBOARD_TEST(TestPresetParts)
#include "tst_presetparts.moc"
