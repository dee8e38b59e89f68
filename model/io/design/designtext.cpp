// SPDX-License-Identifier: Apache-2.0
// Design -> text. Keys sorted, one line per entry; what an older program did not know is put back where it was.
#include "model/io/design/designfile.h"

#include "model/core/visibletext.h"
#include "model/io/design/designkeys.h"
#include "model/io/design/hardwarefile.h"
#include "model/io/design/modelparts.h"
#include "model/io/json/jsontext.h"
#include "model/io/json/jsonwriter.h"

namespace shardboard {

using nlohmann::json;

namespace {

/// Null for what is no JSON, or too deep to be written again.
json parsed(const std::string& text)
{
    auto out = parseJson(text, "");
    return out.ok() ? std::move(out.value()) : json();
}

json meshJson(const Mesh& mesh)
{
    json out { { "axes", json::array() }, { "sizes", json::array() } };
    for (const MeshAxis& axis : mesh.axes()) {
        out["axes"].push_back(axis.name);
        out["sizes"].push_back(axis.size);
    }
    if (!mesh.deviceIds().empty())
        out["device_ids"] = mesh.deviceIds();
    return out;
}

json looseWeightJson(const ModelSpec::LooseWeight& weight)
{
    json out { { "name", weight.tensor.name }, { "dtype", dtypeName(weight.tensor.dtype) } };
    out["shape"] = weight.unknownShape ? json() : json(weight.tensor.shape);
    if (!weight.tensor.dimLabels.empty())
        out["dims"] = weight.tensor.dimLabels;
    return out;
}

json linearModuleJson(const ModelSpec& model)
{
    return {
        { "kind", modelKindName(model.kind) },      { "dtype", dtypeName(model.dtype) },     { "family", model.family },
        { "has_bias", model.linear.hasBias },       { "in_dim", model.linear.inDim },        { "name", visibleText(model.name) },
        { "out_dim", model.linear.outDim },         { "source", visibleText(model.source) }, // a path, which can be anything
        { "tied_weight", model.linear.tiedWeight }, { "weight_prefix", model.weightPrefix },
    };
}

json modelJson(const ModelSpec& model, const json& unknown)
{
    if (model.kind == ModelKind::ColumnParallelLinear)
        return linearModuleJson(model);
    json out {
        { "activation", model.activation },
        { "attention_bias", attentionBiasName(model.attentionBias) },
        { "dtype", dtypeName(model.dtype) },
        { "family", model.family },
        { "head_dim", model.headDim },
        { "hidden_size", model.hiddenSize },
        { "intermediate_size", model.intermediateSize },
        { "mlp_bias", model.mlpBias },
        { "name", visibleText(model.name) },
        { "num_attention_heads", model.heads },
        { "num_hidden_layers", model.layers },
        { "num_key_value_heads", model.kvHeads },
        { "qk_norm", model.qkNorm },
        { "rms_norm_eps", model.norm.epsilon },
        { "rope_theta", model.ropeTheta },
        { "source", visibleText(model.source) }, // a path, which can be anything
        { "tie_word_embeddings", model.tiedEmbeddings },
        { "vocab_size", model.vocabSize },
        { "weight_prefix", model.weightPrefix },
    };
    addModelParts(out, model);
    if (!model.notUnderstood.empty())
        out["not_understood"] = model.notUnderstood;
    const json extras = unknown.is_object() ? unknown.value("weights", json::object()) : json::object();
    for (const ModelSpec::LooseWeight& weight : model.looseWeights) {
        json entry = looseWeightJson(weight);
        addUnknown(entry, extras.value(weight.tensor.name, json()));
        out["weights"].push_back(std::move(entry));
    }
    return out;
}

json strategiesJson(const std::vector<StrategyEntry>& entries, const json& unknown)
{
    json out = json::array();
    for (const StrategyEntry& entry : entries) {
        json item = strategyJson(entry);
        if (unknown.is_object())
            addUnknown(item, unknown.value(compactText(item), json()));
        out.push_back(std::move(item));
    }
    return out;
}

json rulesJson(const DesignRules& rules)
{
    json entries = json::array();
    for (const LogicalRule& rule : rules.rules)
        entries.push_back({ rule.name, rule.axes });
    return { { "entries", std::move(entries) }, { "source", visibleText(rules.source) } };
}

/// The window's state is JSON of its own; a text that is not stays a text.
json viewJson(const std::string& state)
{
    json view = parsed(state);
    return view.is_object() ? view : json(state);
}

std::string indented(int level) { return std::string(static_cast<std::size_t>(level) * 2, ' '); }

/// Objects of the first two levels with a line for each key, lists of objects or lists with a line for each; the rest compact.
std::string prettyText(const json& value, int level)
{
    const bool object = value.is_object() && level <= 1;
    const bool list = value.is_array() && level <= 2 && !value.empty() && value.front().is_structured();
    if ((!object && !list) || value.empty())
        return compactText(value);
    std::string out;
    for (const auto& item : value.items()) {
        out += (out.empty() ? "\n" : ",\n") + indented(level + 1);
        out += object ? compactText(json(item.key())) + ": " + prettyText(item.value(), level + 1) : compactText(item.value());
    }
    return (object ? "{" : "[") + out + "\n" + indented(level) + (object ? "}" : "]");
}

/// Without what is as usual, so that files of older versions stay as they are.
json pickerJson(const PickerOptions& picker)
{
    const PickerOptions usual;
    json out { { "allow_partial_to_sharded", picker.allowPartialToSharded }, { "profile", profileName(picker.profile) } };
    if (picker.picker != usual.picker)
        out["picker"] = planPickerName(picker.picker);
    if (picker.onReshard != usual.onReshard)
        out["on_reshard"] = onReshardName(picker.onReshard);
    if (picker.allowedTransitions == TransitionSet::all())
        out["allowed_transitions"] = "ALL";
    else if (picker.allowedTransitions != usual.allowedTransitions)
        out["allowed_transitions"] = picker.allowedTransitions.pairs();
    if (picker.budgetBytesPerDevice != usual.budgetBytesPerDevice)
        out["budget_bytes_per_device"] = picker.budgetBytesPerDevice;
    return out;
}

json pinsJson(const std::vector<Pin>& pins, const json& unknown)
{
    json list = json::array();
    for (const Pin& pin : pins) {
        json entry = pinJson(pin);
        if (const auto extra = unknown.find(compactText(entry)); unknown.is_object() && extra != unknown.end())
            addUnknown(entry, *extra);
        list.push_back(std::move(entry));
    }
    return list;
}

} // namespace

std::string attentionBiasName(AttentionBias bias)
{
    if (bias == AttentionBias::None)
        return "none";
    return bias == AttentionBias::Qkv ? "qkv" : "qkvo";
}

json strategyJson(const StrategyEntry& entry)
{
    const Strategy& strategy = entry.strategy;
    json out { { "match", entry.match }, { "strategy", strategyKindName(strategy.kind) } };
    if (!strategy.axes.empty())
        out["axes"] = strategy.axes;
    const StrategyParameters has = parametersOf(strategy.kind);
    if (has.dim)
        out["dim"] = strategy.dim;
    if (has.spec)
        out["spec"] = strategy.spec;
    if (has.heads) {
        out["num_heads"] = strategy.numHeads;
        out["head_dim"] = strategy.headDim;
    }
    for (const StrategySegment& segment : strategy.segments)
        out["segments"].push_back(segment.text());
    if (entry.cut)
        out["cut"] = cutRuleName(*entry.cut);
    return out;
}

json pinJson(const Pin& pin)
{
    json out { { "match", pin.match } };
    if (!pin.source.empty())
        out["source"] = pin.source;
    if (!pin.row.empty()) {
        out["axis"] = pin.axis;
        out["row"] = pin.row;
        return out;
    }
    for (const Pin::Dim& dim : pin.dims)
        out["dims"][dim.label] = dim.axes;
    if (!pin.whole.empty())
        out["whole"] = pin.whole;
    return out;
}

std::string compactText(const json& value) { return jsonText(value); }

void addUnknown(json& known, const json& unknown)
{
    if (unknown.is_object())
        for (const auto& [key, value] : unknown.items())
            if (!known.contains(key))
                known[key] = value;
}

/// The id of a preset, or all values where the design has some of its own.
json hardwareOfDesign(const Design& design)
{
    if (design.ownHardware && design.ownHardware->id == design.hardware)
        return hardwareJson(*design.ownHardware);
    return design.hardware;
}

std::string designText(const Design& design)
{
    const json stored = parsed(design.unknownKeys);
    const json unknown = stored.is_object() ? stored : json::object();
    const auto unknownOf = [&](const char* key) { return unknown.value(key, json()); };
    json top {
        { "format", "shardboard" },
        { "version", kDesignVersion },
        { "hardware", hardwareOfDesign(design) },
        { "mesh", meshJson(design.mesh) },
        { "model", modelJson(design.model, unknownOf("model")) },
        { "picker", pickerJson(design.picker) },
        { "strategies", strategiesJson(design.strategies, unknownOf("strategies")) },
        { "workload",
          { { "batch", design.workload.batch },
            { "dtype", dtypeName(design.workload.dtype) },
            { "kind", workloadName(design.workload.kind) },
            { "sequence", design.workload.sequence } } },
    };
    if (design.workload.kind == WorkloadKind::Train) {
        top["workload"]["micro_batches"] = design.workload.microBatches;
        top["workload"]["recompute"] = recomputeName(design.workload.recompute);
        if (design.workload.optimizer.present())
            top["workload"]["optimizer_sharding"] = { { "axes", design.workload.optimizer.axes },
                                                      { "gradients", design.workload.optimizer.gradients } };
    }
    if (design.workload.attention != AttentionKernel::Flash)
        top["workload"]["attention"] = attentionKernelName(design.workload.attention);
    if (design.workload.overlap != Overlap::None)
        top["workload"]["overlap"] = overlapName(design.workload.overlap);
    if (design.workload.software != Software::Fused)
        top["workload"]["software"] = softwareName(design.workload.software);
    if (design.pipeline.present())
        top["pipeline"] = { { "axis", design.pipeline.axis }, { "chunks", design.pipeline.chunks } };
    if (design.memory != MemorySettings {})
        top["memory"] = { { "prefetched_layers", design.memory.prefetchedLayers },
                          { "reserve_share", design.memory.reserveShare },
                          { "logits_in_f32", design.memory.logitsInF32 },
                          { "context_bytes", design.memory.contextBytes },
                          { "communicator_bytes", design.memory.communicatorBytes } };
    if (!design.pins.empty())
        top["pins"] = pinsJson(design.pins, unknownOf("pins"));
    const json unknownOfRules = unknownOf("rules");
    if (!(design.rules == DesignRules {}) || unknownOfRules.is_object()) {
        top["rules"] = rulesJson(design.rules);
        addUnknown(top["rules"], unknownOfRules);
    }
    if (!design.viewState.empty())
        top["view"] = viewJson(design.viewState);
    for (const char* key : { "mesh", "model", "picker", "workload", "pipeline", "memory" })
        if (top.contains(key))
            addUnknown(top[key], unknownOf(key));
    addUnknown(top, unknown);
    return prettyText(top, 0) + "\n";
}

} // namespace shardboard
