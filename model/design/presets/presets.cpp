// SPDX-License-Identifier: Apache-2.0
#include "model/design/presets/presets.h"

#include "model/design/entryindex.h"
#include "model/design/presets/presetaxes.h"
#include "model/design/presets/presetparts.h"
#include "model/families/buildgraph.h"
#include "model/plan/planner/pinning.h"
#include "model/text/contains.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>

namespace shardboard {

namespace {

constexpr std::string_view kPresetPin = "preset "; // before its name, in the source of a pin

bool isTensorName(const std::string& name)
{
    return contains({ "model", "tp", "tensor", "mp", "tensor_parallel", "model_parallel" }, name);
}

bool isDataName(const std::string& name)
{
    return contains({ "data", "dp", "batch", "replica", "fsdp", "dcn", "pod", "data_parallel" }, name);
}

/// The axis that weights are cut over: by its name, else the last one that is not named like a data axis.
int tensorAxis(const Mesh& mesh)
{
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        if (isTensorName(mesh.axis(axis).name))
            return axis;
    for (int axis = mesh.axisCount(); axis-- > 0;)
        if (!isDataName(mesh.axis(axis).name))
            return axis;
    return -1;
}

/// Cuts the batch over the axes other than `except`, as far as it divides.
StrategyEntry batchEntry(const Mesh& mesh, int except, const ModelSpec& model, const Workload& workload,
                         std::vector<std::string>& notes)
{
    std::vector<std::string> names;
    std::int64_t parts = 1;
    const std::int64_t batch = workload.batch / workload.microBatches; // what goes through at a time
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        if (axis == except)
            continue;
        if (batch % (parts * mesh.axis(axis).size) != 0) {
            notes.push_back("batch " + std::to_string(batch) + " does not divide over mesh axis '" + mesh.axis(axis).name
                            + "' of size " + std::to_string(mesh.axis(axis).size)
                            + ": its devices all compute the same; use a multiple");
            continue;
        }
        parts *= mesh.axis(axis).size;
        names.push_back("'" + mesh.axis(axis).name + "'");
    }
    Strategy strategy;
    strategy.kind = StrategyKind::Spec;
    strategy.spec = names.empty() ? "P()" : names.size() == 1 ? "P(" + names.front() + ")" : "P((" + joined(names) + "))";
    return { inputName(model), strategy, std::nullopt };
}

StrategyEntry entry(const std::string& match, StrategyKind kind, const std::string& axis)
{
    Strategy strategy;
    strategy.kind = kind;
    if (kind != StrategyKind::Replicate)
        strategy.axes = { axis };
    return { match, strategy, std::nullopt };
}

/// The axis over which the replicate preset leaves the batch whole: one named like a tensor axis.
int namedTensorAxis(const Mesh& mesh)
{
    const int axis = tensorAxis(mesh);
    return axis >= 0 && isTensorName(mesh.axis(axis).name) ? axis : -1;
}

std::vector<StrategyEntry> replicateEntries(const Mesh& mesh, const ModelSpec& model, const Workload& workload,
                                            std::vector<std::string>& notes)
{
    return { entry("*", StrategyKind::Replicate, {}), batchEntry(mesh, namedTensorAxis(mesh), model, workload, notes) };
}

Result<std::vector<StrategyEntry>> megatronEntries(const Mesh& mesh, const ModelSpec& model, const Workload& workload,
                                                   std::vector<std::string>& notes)
{
    const int axis = tensorAxis(mesh);
    if (axis < 0)
        return inputError("--mesh", "preset megatron-tp finds no mesh axis to cut weights over in " + mesh.text(),
                          "name one model, tp or tensor");
    const std::string& name = mesh.axis(axis).name;
    const std::int64_t size = mesh.axis(axis).size;
    const std::string over = " by mesh axis '" + name + "' of size " + std::to_string(size);
    std::vector<StrategyEntry> entries { entry("*", StrategyKind::Replicate, {}), batchEntry(mesh, axis, model, workload, notes) };
    const auto cut = [&](const std::string& match, StrategyKind kind) { entries.push_back(entry(match, kind, name)); };
    if (model.kind == ModelKind::ColumnParallelLinear) {
        for (const char* match : { "*.weight", "*.bias" })
            if (model.linear.hasBias || std::string(match) == "*.weight")
                cut(match, StrategyKind::Rowwise);
        return entries;
    }
    const bool wholeHeads = model.hasGraph() && model.heads % size != 0;
    if (wholeHeads && model.heads < size) {
        notes.push_back(std::to_string(model.heads) + " heads are fewer than the devices" + over
                        + ": the attention projections stay whole on every device");
    } else {
        cut("*.self_attn.q_proj.*", StrategyKind::Rowwise);
        if (wholeHeads) {
            notes.push_back(std::to_string(model.heads) + " heads do not divide" + over
                            + ": q_proj and o_proj are cut in whole heads, so that some devices hold one more");
            entries.back().cut = CutRule::GrainBalanced;
        }
        if (model.hasGraph() && model.kvHeads % size != 0)
            notes.push_back(std::to_string(model.kvHeads) + " KV heads do not divide" + over
                            + ": k_proj and v_proj stay whole on every device");
        else
            for (const char* match : { "*.self_attn.k_proj.*", "*.self_attn.v_proj.*" })
                cut(match, StrategyKind::Rowwise);
        cut("*.self_attn.o_proj.weight", wholeHeads ? StrategyKind::HeadAwareColumnwise : StrategyKind::Columnwise);
        if (wholeHeads) {
            entries.back().strategy.numHeads = model.heads;
            entries.back().strategy.headDim = model.headDim;
        }
    }
    if (model.hasGraph() && model.intermediateSize < size) {
        notes.push_back("the MLP is narrower than the axis: its weights stay whole");
    } else {
        cut("*.mlp.gate_proj.*", StrategyKind::Rowwise);
        cut("*.mlp.up_proj.*", StrategyKind::Rowwise);
        cut("*.mlp.down_proj.weight", StrategyKind::Columnwise);
    }
    if (effective(workload).predicted > 0 && model.hiddenSize % size == 0)
        cut("*.eh_proj.weight", StrategyKind::Rowwise); // as PresetBuilder::furtherTokens
    cut("*embed_tokens.weight", StrategyKind::Rowwise);
    cut("*lm_head.weight", StrategyKind::Rowwise);
    return entries;
}

/// A decoder like Llama's: the patterns of megatronEntries name all its weights.
/// Without weights of other parts either: those are laid out by what is recognized of them.
bool isPlainDecoder(const ModelSpec& model)
{
    return model.kind != ModelKind::Decoder
        || (model.hasGraph() && !model.moe.present() && !model.mla.present() && model.block == BlockSpec {} && model.names.empty()
            && model.looseWeights.empty());
}

Result<Preset> presetOf(const std::string& name, const Mesh& mesh, const ModelSpec& model, const Workload& workload)
{
    Preset preset;
    if (name == "replicate") {
        preset.strategies = replicateEntries(mesh, model, workload, preset.notes);
        return preset;
    }
    const auto facts = presetFactsOf(name);
    if (!facts.ok())
        return facts.error();
    if (facts.value().name == "megatron-tp" && isPlainDecoder(model)) {
        auto entries = megatronEntries(mesh, model, workload, preset.notes);
        if (!entries.ok())
            return entries.error();
        preset.strategies = std::move(entries).value();
        return preset;
    }
    if (model.kind != ModelKind::Decoder)
        return inputError("--preset",
                          "preset " + name + " needs a model whose operations are known, and " + model.name + " is a single module",
                          "use replicate or megatron-tp");
    return presetFromFacts(facts.value(), mesh, model, workload);
}

/// Of all weights and inputs. No preset tells layers apart, so that a name of theirs stands for all.
Result<std::vector<std::string>> tensorNames(const ModelSpec& model, const Workload& workload)
{
    std::vector<std::string> names;
    for (const ModelSpec::LooseWeight& weight : model.looseWeights)
        names.push_back(weight.tensor.name);
    if (!model.hasGraph())
        return names;
    Workload forward = workload; // the backward pass has no weights of its own
    if (effective(workload).predicted == 0)
        forward.kind = WorkloadKind::Prefill;
    forward.microBatches = 1;
    const auto graph = buildGraph(model, forward);
    if (!graph.ok())
        return graph.error();
    if (workload.kind == WorkloadKind::Train)
        names.push_back("targets");
    for (const GraphTensor& tensor : graph.value().tensors)
        if (tensor.spec.role == TensorRole::Weight || tensor.spec.role == TensorRole::Input)
            names.push_back(tensor.spec.name);
    return names;
}

bool cutsOverTensorAxes(const std::string& preset, const Mesh& mesh)
{
    const auto facts = presetFactsOf(preset);
    if (!facts.ok() || facts.value().tensor == Wish::No)
        return false;
    AxisRoles roles = axisRoles(mesh);
    if (roles.tensor.empty() && facts.value().tensor == Wish::Needs && !roles.unknown.empty())
        roles.tensor = { roles.unknown.back() }; // as PresetBuilder::choose
    return mesh.groupSize(roles.tensor) > 1;
}

/// Whether all of `wanted` are among `entries`, in their order.
bool containsInOrder(const std::vector<StrategyEntry>& entries, const std::vector<StrategyEntry>& wanted)
{
    std::size_t next = 0;
    for (const StrategyEntry& entry : entries)
        if (next < wanted.size() && entry == wanted[next])
            ++next;
    return next == wanted.size() && !wanted.empty();
}

} // namespace

std::vector<std::string> presetNames()
{
    std::vector<std::string> names { "replicate" };
    for (const PresetFacts& facts : presetFacts())
        names.push_back(facts.name);
    return names;
}

std::vector<std::string> presetsFor(const Mesh& mesh, const ModelSpec& model)
{
    std::vector<std::string> names = presetNames();
    const AxisRoles roles = axisRoles(mesh);
    const bool experts = !roles.expert.empty() && model.moe.present();
    const bool sharded = !roles.fsdp.empty();
    // One kind beside data and fsdp has presets of its own.
    if (int(!roles.stage.empty()) + int(experts) + int(!roles.context.empty()) + int(!roles.tensor.empty()) < 2)
        return names;
    using Forms = std::vector<const char*>; // of a part, "" for none
    const Forms none { "" };
    for (const char* pipeline : roles.stage.empty() ? none : Forms { "pp", "pp-interleaved" })
        for (const char* context : roles.context.empty() ? none : Forms { "cp-ring", "cp-all-gather", "cp-ulysses" })
            for (const char* tensor : roles.tensor.empty() ? none : Forms { "tp", "tp-sp" })
                for (const char* shards : !sharded ? none
                         : roles.context.empty()   ? Forms { "fsdp" }
                                                   : Forms { "fsdp", "fsdp-cp" }) {
                    std::vector<std::string> parts;
                    for (const char* part : { pipeline, experts ? "ep" : "", context, tensor, shards })
                        if (*part != '\0')
                            parts.emplace_back(part);
                    const auto facts = presetFactsOf(joined(parts, "+"));
                    if (facts.ok() && !contains(names, facts.value().name))
                        names.push_back(facts.value().name);
                }
    return names;
}

std::string presetWhat(const std::string& name)
{
    if (name == "replicate")
        return "every weight whole on every device; the batch cut over the data axes";
    const auto facts = presetFactsOf(name);
    return facts.ok() ? facts.value().what : std::string();
}

Result<Preset> makePreset(const std::string& name, const Mesh& mesh, const ModelSpec& model, const Workload& workload)
{
    auto preset = presetOf(name, mesh, model, effective(workload));
    if (!preset.ok())
        return preset;
    std::vector<StrategyEntry>& entries = preset.value().strategies;
    const auto isInput = [&](const StrategyEntry& e) { return e.match == inputName(model); };
    const bool hasTargets = std::ranges::any_of(entries, [](const StrategyEntry& e) { return e.match == "targets"; });
    if (const auto input = std::ranges::find_if(entries, isInput);
        workload.kind == WorkloadKind::Train && !hasTargets && input != entries.end()) {
        StrategyEntry targets = *input; // they lie as the tokens do
        targets.match = "targets";
        entries.insert(input + 1, std::move(targets));
    }
    if (const auto names = tensorNames(model, workload); names.ok()) { // else evaluating the design tells why
        const std::vector<bool> matching = EntryIndex(entries).matchingAny(names.value());
        std::size_t index = 0;
        std::erase_if(entries, [&](const StrategyEntry&) { return !matching[index++]; });
    }
    return preset;
}

bool isOfPreset(const Pin& pin) { return pin.source.starts_with(kPresetPin); }

namespace {

/// Whether it names an operation of the graph, or what one makes.
bool namesAny(const Pin& pin, const Graph& graph)
{
    for (const Segment& segment : graph.segments)
        for (const OpId op : segment.ops)
            if (pinNames(pin, graph, op, segment.name))
                return true;
    return false;
}

/// Pins that named a projection which is taken apart, or put together, and name nothing then.
void noteLostPins(const std::vector<Pin>& pins, const Design& before, const ModelSpec& after, std::vector<std::string>& notes)
{
    const auto was = buildGraph(before.model, before.workload);
    const auto is = buildGraph(after, before.workload);
    if (!was.ok() || !is.ok())
        return;
    for (const Pin& pin : pins)
        if (namesAny(pin, was.value()) && !namesAny(pin, is.value()))
            notes.push_back("pin '" + pinText(pin) + "' names a projection that this preset "
                            + (after.block.partsApart ? "cuts part by part: pin its parts, or remove it"
                                                      : "joins again: pin the whole, or remove it"));
}

} // namespace

Result<std::vector<std::string>> applyPreset(Design& design, const std::string& name)
{
    ModelSpec model = design.model;
    model.block.partsApart = model.hasGraph() && model.hasParts() && cutsOverTensorAxes(name, design.mesh);
    auto preset = makePreset(name, design.mesh, model, design.workload);
    if (!preset.ok())
        return preset.error();
    const bool retaken = design.model.block.partsApart != model.block.partsApart;
    std::vector<Pin> own = design.pins;
    std::erase_if(own, isOfPreset);
    if (retaken && !own.empty())
        noteLostPins(own, design, model, preset.value().notes);
    design.model.block.partsApart = model.block.partsApart;
    design.strategies = std::move(preset.value().strategies);
    design.pipeline = preset.value().pipeline;
    std::erase_if(design.pins, isOfPreset);
    design.pins.insert(design.pins.begin(), preset.value().pins.begin(), preset.value().pins.end());
    return std::move(preset.value().notes);
}

std::vector<std::string> presetsOf(const Design& design)
{
    constexpr std::size_t kMostCombinations = 4; // of one design; more, and somebody has written its pins by hand
    std::vector<std::string> names = presetNames();
    const std::size_t own = names.size();
    std::string_view before; // pins of one preset lie together
    for (const Pin& pin : design.pins) {
        if (pin.source == before || !pin.source.starts_with(kPresetPin) || names.size() == own + kMostCombinations)
            continue;
        before = pin.source;
        std::string name = pin.source.substr(kPresetPin.size());
        if (!contains(names, name) && presetFactsOf(name).ok())
            names.insert(names.begin(), std::move(name)); // a preset without pins may have the same entries
    }
    return names;
}

EntryOrigin originOfEntries(const Design& design)
{
    EntryOrigin best;
    for (const std::string& name : presetsOf(design)) {
        const auto preset = makePreset(name, design.mesh, design.model, design.workload);
        if (!preset.ok() || preset.value().strategies.size() <= best.entries.size()
            || !containsInOrder(design.strategies, preset.value().strategies))
            continue;
        // The same entries can be two presets'; their pins tell them apart.
        const auto& pins = preset.value().pins;
        if (!pins.empty() && !contains(design.pins, pins.front()))
            continue;
        best = { name, preset.value().strategies };
    }
    return best;
}

Result<std::vector<StrategyEntry>> presetStrategies(const std::string& name, const Mesh& mesh, const ModelSpec& model,
                                                    const Workload& workload, std::vector<std::string>& notes)
{
    auto preset = makePreset(name, mesh, model, workload);
    if (!preset.ok())
        return preset.error();
    notes.insert(notes.end(), preset.value().notes.begin(), preset.value().notes.end());
    return std::move(preset.value().strategies);
}

} // namespace shardboard
