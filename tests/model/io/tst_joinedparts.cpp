// SPDX-License-Identifier: Apache-2.0
// Projections that a checkpoint has as one weight, cut part by part: the plan is that of a model whose projections are apart, and
// the parts are those of the checkpoint's weight.
#include "model/families/buildgraph.h"
#include "model/io/checkpoint/comparecheckpoint.h"
#include "model/io/design/designfile.h"
#include "model/io/file/textsink.h"
#include "model/io/names/carriedlayout.h"
#include "model/io/names/parameternames.h"
#include "model/io/shards/shardsjson.h"
#include "model/io/targets/targets.h"
#include "tests/support/datarow.h"
#include "tests/support/designs.h"
#include "tests/support/families.h"
#include "tests/support/runner.h"

#include <QTest>

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <tuple>

using namespace shardboard;

namespace {

/// Phi-3's block, with sizes that divide by eight.
ModelSpec joinedModel()
{
    ModelSpec model = denseModel(4096, 1024, 4096, 4, 16, 8, 64);
    model.block.joinedQkv = model.block.joinedGateUp = true;
    return model;
}

/// A scan in every layer, whose projection is one weight.
ModelSpec scanned(RecurrentKind kind)
{
    ModelSpec model = denseModel(512, 64, 128, 2, 4, 4, 16);
    model.recurrent.kind = kind;
    model.recurrent.heads = kind == RecurrentKind::Selective || kind == RecurrentKind::Convolution ? 64 : 8;
    model.recurrent.keyHeads = kind == RecurrentKind::Selective || kind == RecurrentKind::Convolution ? 1 : 4;
    model.recurrent.keyDim = 8;
    model.recurrent.valueDim = kind == RecurrentKind::Selective || kind == RecurrentKind::Convolution ? 1 : 8;
    model.recurrent.stepRank = kind == RecurrentKind::Selective ? 4 : 0;
    model.recurrent.normGroups = kind == RecurrentKind::StateSpace ? 4 : 0;
    model.recurrent.taps = 4;
    model.block.pattern = "rr";
    return model;
}

using Moved = std::tuple<CollectiveKind, std::vector<int>, std::int64_t, std::int64_t>;

/// Kind, axes, bytes and devices of all collectives of the plan, in its order; local slices move nothing.
std::vector<Moved> movedIn(const Evaluation& evaluation)
{
    std::vector<Moved> out;
    for (const Collective& each : evaluation.plan.collectives)
        if (each.kind != CollectiveKind::LocalSlice)
            out.emplace_back(each.kind, each.axes, each.bytes, each.groupSize);
    return out;
}

std::multiset<std::tuple<std::string, Shape, std::int64_t>> storedIn(const Graph& graph)
{
    std::multiset<std::tuple<std::string, Shape, std::int64_t>> out;
    for (const GraphTensor& tensor : graph.storedWeights())
        out.emplace(tensor.spec.name, tensor.spec.shape, tensor.copies);
    return out;
}

} // namespace

class TestJoinedParts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void thePlanIsThatOfProjectionsApart_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<QString>("preset");
        QTest::addColumn<int>("kind");
        for (const auto& [mesh, preset] :
             { std::pair { "tp=8", "megatron-tp" }, { "data=2,tp=4", "tp-sp" }, { "fsdp=2,tp=2", "tp+fsdp" } })
            for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode, WorkloadKind::Train })
                dataRow((std::string(preset) + ", " + workloadName(kind)).c_str(), QString::fromUtf8(mesh),
                        QString::fromUtf8(preset), int(kind));
    }
    void thePlanIsThatOfProjectionsApart()
    {
        QFETCH(QString, mesh);
        QFETCH(QString, preset);
        QFETCH(int, kind);
        Workload workload;
        workload.kind = WorkloadKind(kind);
        workload.batch = 8;
        workload.sequence = 256;
        ModelSpec apart = joinedModel();
        apart.block = {};
        apart.name = "plain"; // a plain decoder has entries of its own under one preset; the layouts are the same
        const Design joinedDesign = designOn(mesh.toStdString(), joinedModel(), workload, preset.toStdString());
        QVERIFY(joinedDesign.model.block.partsApart);
        const auto joined = evaluated(joinedDesign);
        const auto plain = evaluated(designOn(mesh.toStdString(), apart, workload, preset.toStdString()));
        QVERIFY(!movedIn(*joined).empty());
        QVERIFY(movedIn(*joined) == movedIn(*plain));
        QCOMPARE(joined->plan.memory.weights, plain->plan.memory.weights);
        QCOMPARE(joined->plan.memory.peak, plain->plan.memory.peak);
        QCOMPARE(joined->parameters, plain->parameters);
    }

    void presetsTakePartsApartAndJoinThemAgain()
    {
        Design design = designOn("fsdp=2,tp=4", joinedModel(), {}, "tp+fsdp");
        QVERIFY(design.model.block.partsApart);
        const auto again = sure(designFromText(designText(design), "d.shardboard"));
        QVERIFY(again.model == design.model);
        QVERIFY(applyPreset(design, "fsdp").ok());
        QVERIFY(!design.model.block.partsApart);
        QVERIFY(weightOf(*evaluated(design), "qkv_proj.weight").shards.distinctCount() == 2);
        QVERIFY(!designOn("tp=1", joinedModel(), {}, "megatron-tp").model.block.partsApart);
        QVERIFY(!designOn("tp=4", denseModel(4096, 1024, 4096, 4, 16, 8, 64), {}, "megatron-tp").model.block.partsApart);
        // KV heads that do not divide stay whole, and queries are cut.
        ModelSpec few = joinedModel();
        few.kvHeads = 2;
        const auto evaluation = evaluated(designOn("tp=8", few, {}, "megatron-tp"));
        QCOMPARE(weightOf(*evaluation, "qkv_proj.q.weight").shards.distinctCount(), 8);
        QCOMPARE(weightOf(*evaluation, "qkv_proj.k.weight").shards.distinctCount(), 1);
    }

    /// Pins set by hand that name the whole or a part are told when a preset takes it away.
    void presetsTellOfPinsThatNameNothingAnymore()
    {
        const auto noted = [](const std::vector<std::string>& notes, const std::string& pin) {
            return std::ranges::any_of(notes,
                                       [&](const std::string& note) { return note.find("pin '" + pin) != std::string::npos; });
        };
        Design design = designOn("fsdp=2,tp=4", joinedModel(), {}, "fsdp");
        const Pin own = sure(parsePin("qkv:batch=fsdp"));
        const Pin kept = sure(parsePin("attention out:batch=fsdp"));
        design.pins.insert(design.pins.end(), { own, kept });
        const auto apart = sure(applyPreset(design, "tp+fsdp"));
        QVERIFY(noted(apart, pinText(own)) && !noted(apart, pinText(kept)));
        const Pin part = sure(parsePin("self_attn.qkv_proj.q@tp=R S0 -> S2"));
        design.pins.push_back(part);
        QVERIFY(!noted(sure(applyPreset(design, "tp+fsdp")), pinText(part))); // parts stay parts
        QVERIFY(noted(sure(applyPreset(design, "fsdp")), pinText(part)));
    }

    /// What a checkpoint has does not depend on how the graph is built.
    void partsTogetherAreTheCheckpointsWeights()
    {
        std::vector<ModelSpec> models { joinedModel(),
                                        test::familyModel("granitemoe"),
                                        test::familyModel("llama4_text"),
                                        test::familyModel("phi3"),
                                        scanned(RecurrentKind::StateSpace),
                                        scanned(RecurrentKind::Selective),
                                        scanned(RecurrentKind::Convolution),
                                        scanned(RecurrentKind::DeltaRule) };
        models.front().block.transposed = true;
        models.front().attentionBias = AttentionBias::Qkvo;
        models.front().names = { { "self_attn.qkv_proj", "attn.c_attn" } };
        for (ModelSpec model : models) {
            QVERIFY(model.hasParts());
            model.block.partsApart = false; // as opened
            const auto whole = sure(buildGraph(model, {}));
            model.block.partsApart = true;
            const auto parts = sure(buildGraph(model, {}));
            QVERIFY2(verifyModel(model, "m").ok(), model.name.c_str());
            QVERIFY2(storedIn(whole) == storedIn(parts), model.name.c_str());
            QCOMPARE(parts.weightCount(), whole.weightCount());
            QCOMPARE(parts.parameterCount(), whole.parameterCount());
            // Each element of a joined dim is of one part.
            std::map<std::pair<std::string, SegmentId>, std::map<std::int64_t, std::int64_t>> ranges;
            for (const GraphTensor& tensor : parts.tensors)
                if (tensor.part.present()) {
                    QVERIFY(tensor.spec.role == TensorRole::Weight);
                    ranges[{ tensor.part.whole, tensor.segment }][tensor.part.first] =
                        tensor.part.first + tensor.spec.shape[tensor.part.dim];
                }
            QVERIFY2(!ranges.empty(), model.name.c_str());
            for (const auto& [of, each] : ranges) {
                std::int64_t end = 0;
                for (const auto& [first, last] : each) {
                    QCOMPARE(first, end);
                    end = last;
                }
            }
        }
    }

    void aCheckpointIsComparedByItsWholeWeights()
    {
        ModelSpec model = joinedModel();
        model.block.partsApart = true;
        const auto graph = sure(buildGraph(model, {}));
        model.block.partsApart = false;
        const auto whole = sure(buildGraph(model, {}));
        Checkpoint checkpoint;
        checkpoint.place = "m";
        for (const GraphTensor& tensor : whole.tensors)
            for (std::int64_t i = 0; tensor.spec.role == TensorRole::Weight && i < tensor.copies; ++i)
                checkpoint.tensors.push_back({ concreteName(tensor.spec.name, i), true, DType::BF16, tensor.spec.shape });
        QVERIFY(compareCheckpoint(checkpoint, model, graph, {}).findings.empty());
        for (CheckpointTensor& tensor : checkpoint.tensors)
            if (tensor.name.ends_with("layers.1.self_attn.qkv_proj.weight"))
                tensor.shape[0] += 1;
        const auto findings = compareCheckpoint(checkpoint, model, graph, {}).findings;
        QCOMPARE(findings.size(), std::size_t { 1 });
        QVERIFY2(findings.front().message.find("qkv_proj") != std::string::npos, findings.front().message.c_str());
    }

    void theKeyIsRefusedWhereThereAreNoParts()
    {
        ModelSpec model = denseModel(4096, 1024, 4096, 4, 16, 8, 64);
        model.block.partsApart = true;
        QVERIFY(!verifyModel(model, "m").ok());
        model.block.joinedQkv = true;
        QVERIFY(verifyModel(model, "m").ok());
    }

    void exportsSayWhatAPartIsOf()
    {
        const Design design = designOn("tp=2", joinedModel(), {}, "megatron-tp");
        const auto evaluation = evaluated(design);
        const auto document = nlohmann::json::parse(textOf(sure(shardsJson(design.mesh, evaluation))));
        std::map<std::string, nlohmann::json> parts;
        for (const auto& tensor : document["tensors"])
            if (tensor.contains("part_of"))
                parts[tensor["name"].get<std::string>()] = tensor["part_of"];
        QCOMPARE(parts.size(), std::size_t { 4 * 5 });
        const auto v = parts.at("model.layers.3.self_attn.qkv_proj.v.weight");
        QCOMPARE(v["name"].get<std::string>(), std::string("model.layers.3.self_attn.qkv_proj.weight"));
        QCOMPARE(v["dim"].get<int>(), 0);
        QCOMPARE(v["first"].get<int>(), (16 + 8) * 64);
        // The checkpoint's weight is that of its parts; torch cuts halves of equal size, and says why not the others.
        const auto names = sure(namesOf(design.model, NameScheme::HuggingFace));
        QVERIFY(names.missing.empty());
        int joined = 0;
        for (const LaidOutParameter& each : laidOutParameters(names, *evaluation, design.mesh)) {
            if (each.parameter->sources.size() < 2)
                continue;
            ++joined;
            const bool qkv = each.parameter->sources.size() == 3;
            QCOMPARE(each.parameter->name,
                     std::string(qkv ? "model.layers.*.self_attn.qkv_proj.weight" : "model.layers.*.mlp.gate_up_proj.weight"));
            QCOMPARE(each.parameter->shape(), qkv ? (Shape { (16 + 2 * 8) * 64, 1024 }) : (Shape { 2 * 4096, 1024 }));
            QCOMPARE(sure(each.carried).segmentedDim, 0);
            QCOMPARE(sure(each.carried).segments,
                     qkv ? (std::vector<std::int64_t> { 1024, 512, 512 }) : (std::vector<std::int64_t> { 4096, 4096 }));
        }
        QCOMPARE(joined, 2);
        for (const ExportTarget& target : exportTargets())
            if (target.id == "torch") {
                const std::string module = textOf(sure(target.files(design, *evaluation)).front().text);
                QVERIFY(module.find("MODULES = {\n    \"model.layers.*.mlp.gate_up_proj.weight\"") != std::string::npos);
                QVERIFY(module.find("NOT_LAID_OUT = {\n    \"model.layers.*.self_attn.qkv_proj.weight\"") != std::string::npos);
            }
        for (const ExportTarget& target : exportTargets())
            if (target.id == "jax" || target.id == "torch") {
                QVERIFY(sure(target.refusals(design, *evaluation, {})).empty());
                const auto lines = target.leftOut(design, *evaluation);
                QVERIFY(
                    std::ranges::any_of(lines, [](const std::string& line) { return line.find("part_of") != std::string::npos; }));
            }
    }
};

SHARDBOARD_TEST(TestJoinedParts)
#include "tst_joinedparts.moc"
