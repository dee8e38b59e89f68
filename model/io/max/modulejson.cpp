// SPDX-License-Identifier: Apache-2.0
#include "model/io/max/modulejson.h"

#include "model/io/max/moduleparameters.h"
#include "model/modules/attention.h"
#include "model/modules/columnparallel.h"
#include "model/modules/linear.h"
#include "model/modules/mlp.h"
#include "model/modules/moe.h"
#include "model/modules/stackedmoe.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>

namespace shardboard {

using nlohmann::json;

namespace {

std::string maxName(StrategyKind kind)
{
    std::string name = strategyKindName(kind);
    std::ranges::replace(name, '-', '_');
    return name;
}

json rangesJson(const std::vector<Range>& ranges)
{
    json out = json::array();
    for (const Range& range : ranges)
        out.push_back({ range.lo, range.hi });
    return out;
}

json findingsJson(const std::vector<Finding>& findings)
{
    json out = json::array();
    for (const Finding& finding : findings)
        out.push_back({ { "kind", finding.kind },
                        { "severity", severityName(finding.severity) },
                        { "where", finding.where },
                        { "message", finding.message },
                        { "repair", finding.repair } });
    return out;
}

/// An answer with the findings of the module.
struct Answer {
    json keys;
    std::vector<Finding> findings;
};

Result<Answer> linear(ModuleParameters& from)
{
    LinearParameters linear;
    from.linearShape(linear);
    linear.hasBias = from.fields().flag("has_bias", false);
    linear.scales = from.scales(false);
    linear.strategy = from.weightStrategy();
    if (from.error())
        return *from.error();
    auto answer = shardLinear(linear, from.where());
    if (!answer.ok())
        return answer.error();
    const LinearAnswer& a = answer.value();
    json keys { { "weight_shards", a.weights },
                { "out_dims", a.outDims },
                { "recorded_out_dim", a.recordedOutDim },
                { "bias_shapes", nullptr } };
    if (a.bias) {
        keys["bias_strategy"] = maxName(a.bias->strategy);
        keys["device_keeps_bias"] = a.bias->kept;
        keys["bias_shapes"] = a.bias->shapes;
    }
    if (a.scales) {
        keys["scale_strategy"] = maxName(a.scales->strategy.kind);
        keys["scale_shape"] = a.scales->shape;
        keys["scale_shards"] = a.scales->shapes;
    }
    return Answer { std::move(keys), a.findings };
}

Result<Answer> linearBias(ModuleParameters& from)
{
    LinearParameters linear;
    from.linearShape(linear);
    linear.strategy = from.strategy();
    linear.strategy.strategy.dim = static_cast<int>(
        from.fields().integer(from.present({ "axis", "dim" }), -2, 1, std::min(1, defaultDim(linear.strategy.kind()))));
    if (linear.strategy.kind() == StrategyKind::StackedQkv) { // without heads every row is one of a head of its own
        linear.strategy.strategy.numHeads = from.fields().integer("num_heads", 1, kLargestModuleSize, linear.outDim / 3);
        linear.strategy.strategy.headDim = from.fields().integer(
            "head_dim", 1, kLargestModuleSize,
            std::max<std::int64_t>(1, linear.outDim / 3 / std::max<std::int64_t>(1, linear.strategy.strategy.numHeads)));
    } else {
        from.present({ "num_heads", "head_dim" }); // the bias does not need them
    }
    if (from.error())
        return *from.error();
    Answer answer;
    const auto bias = shardLinearBias(linear, from.where(), answer.findings);
    if (!bias.ok())
        return bias.error();
    answer.keys = { { "bias_strategy", maxName(bias.value().strategy) },
                    { "device_keeps_bias", bias.value().kept },
                    { "bias_shapes", bias.value().shapes } };
    return answer;
}

Result<Answer> linearScales(ModuleParameters& from)
{
    LinearParameters linear;
    from.linearShape(linear);
    linear.scales = from.scales(true);
    linear.strategy = from.weightStrategy();
    if (from.error())
        return *from.error();
    Answer answer;
    const auto scales = shardLinearScales(linear, from.where(), answer.findings);
    if (!scales.ok())
        return scales.error();
    answer.keys = { { "scale_strategy", maxName(scales.value().strategy.kind) },
                    { "scale_shape", scales.value().shape },
                    { "scale_shards", scales.value().shapes } };
    return answer;
}

Result<Answer> columnParallelLinear(ModuleParameters& from)
{
    const ColumnParallelParameters layer = from.columnParallel();
    if (from.error())
        return *from.error();
    auto answer = shardColumnParallel(layer, from.where());
    if (!answer.ok())
        return answer.error();
    const ColumnParallelAnswer& a = answer.value();
    return Answer { { { "weight_shards", a.weights },
                      { "bias_shards", a.biases ? json(*a.biases) : json(nullptr) },
                      { "local_out_shapes", a.localOutputs },
                      { "collective", "allgather on axis -1" },
                      { "out_shapes", a.outputs } },
                    a.findings };
}

Result<Answer> mlp(ModuleParameters& from)
{
    MlpParameters layer;
    layer.strategy = from.strategy();
    layer.hidden = from.size({ "hidden", "hidden_dim", "hidden_size" });
    layer.feedForward = from.size({ "ffl", "feed_forward_length", "intermediate_size" });
    if (from.error())
        return *from.error();
    auto answer = shardMlp(layer, from.where());
    if (!answer.ok())
        return answer.error();
    const MlpAnswer& a = answer.value();
    return Answer { { { "gate_proj", a.gate }, { "up_proj", a.up }, { "down_proj", a.down } }, a.findings };
}

Result<Answer> attention(ModuleParameters& from)
{
    AttentionParameters layer;
    layer.strategy = from.strategy();
    layer.hidden = from.size({ "hidden", "hidden_dim", "hidden_size" });
    layer.heads = from.size({ "num_heads" });
    layer.kvHeads = from.size({ "num_kv_heads" }, layer.heads);
    layer.headDim = from.size({ "head_dim" }, std::max<std::int64_t>(1, layer.hidden / layer.heads));
    layer.stackedQkv = from.fields().flag(from.present({ "stacked_qkv", "stacked" }), false);
    if (from.error())
        return *from.error();
    auto answer = shardAttention(layer, from.where());
    if (!answer.ok())
        return answer.error();
    const AttentionAnswer& a = answer.value();
    json keys { { "heads_per_device", a.heads },
                { "qkv_strategy", a.qkvStrategy },
                { "o_strategy", a.outputStrategy },
                { "o_proj", a.output } };
    if (layer.stackedQkv) {
        keys["qkv_proj"] = a.qkv;
    } else {
        keys["q_proj"] = a.q;
        keys["k_proj"] = a.k;
        keys["v_proj"] = a.v;
    }
    return Answer { std::move(keys), a.findings };
}

/// Sizes that only some strategies need are asked for when the strategy is known to be one of them: a strategy that the
/// module refuses is the better thing to hear about.
Result<Answer> moe(ModuleParameters& from)
{
    MoeParameters layer;
    layer.strategy = from.strategy();
    const bool known =
        layer.strategy.kind() == StrategyKind::TensorParallel || layer.strategy.kind() == StrategyKind::ExpertParallel;
    const std::optional<std::int64_t> unless = known ? std::nullopt : std::optional<std::int64_t>(1);
    layer.experts = from.size({ "num_experts" }, unless);
    layer.moeDim = from.size({ "moe_dim" }, unless);
    layer.hidden = from.size({ "hidden", "hidden_dim", "hidden_size" }, 0);
    layer.epSize = from.size({ "ep_size" }, 0);
    layer.nodes = from.fields().integer("n_nodes", 1, kMostModuleDevices, 1);
    layer.node = from.fields().integer("node_id", 0, kMostModuleDevices, 0);
    if (from.error())
        return *from.error();
    auto answer = shardMoe(layer, from.where());
    if (!answer.ok())
        return answer.error();
    const MoeAnswer& a = answer.value();
    json keys { { "gate", a.gate },
                { "shared_experts", a.sharedExperts },
                { "expert", a.expert },
                { "moe_dim_per_device", a.moeDimPerDevice } };
    if (a.gateUpStack)
        keys["gate_up_stack"] = *a.gateUpStack;
    if (a.downStack)
        keys["down_stack"] = *a.downStack;
    if (layer.strategy.kind() == StrategyKind::TensorParallel)
        keys["moe_dims"] = a.moeDims;
    else
        keys["expert_ranges"] = rangesJson(a.expertRanges);
    if (a.unassigned.size() == 1)
        keys["unassigned_experts"] = { a.unassigned[0].lo, a.unassigned[0].hi };
    else if (!a.unassigned.empty())
        keys["unassigned_experts"] = rangesJson(a.unassigned);
    return Answer { std::move(keys), a.findings };
}

Result<Answer> moeGate(ModuleParameters& from)
{
    MoeParameters layer;
    layer.strategy = from.strategy("replicate");
    layer.experts = from.size({ "num_experts" }, 0);
    layer.hidden = from.size({ "hidden", "hidden_dim", "hidden_size" }, 0);
    if (from.error())
        return *from.error();
    auto answer = shardMoeGate(layer, from.where());
    if (!answer.ok())
        return answer.error();
    json keys { { "gate", "replicate" } };
    if (!answer.value().weights.empty())
        keys["weight_shards"] = answer.value().weights;
    return Answer { std::move(keys), {} };
}

Result<Answer> stackedMoe(ModuleParameters& from)
{
    StackedMoeParameters layer;
    layer.strategy = from.strategy();
    const std::optional<std::int64_t> unless =
        layer.strategy.kind() == StrategyKind::TensorParallel ? std::nullopt : std::optional<std::int64_t>(1);
    layer.experts = from.size({ "num_experts" }, unless);
    layer.hidden = from.size({ "hidden", "hidden_dim", "hidden_size" }, unless);
    layer.moeDim = from.size({ "moe_dim" }, unless);
    const std::string format = from.fields().text("gate_up_format", "concatenated");
    if (format != "concatenated" && format != "interleaved")
        from.fields().fail("gate_up_format", "cannot be '" + format + "'", "use concatenated or interleaved");
    layer.interleaved = format == "interleaved";
    layer.hasBias = from.fields().flag("has_bias", false);
    layer.packedMxfp4 = from.says({ "mxfp4", "packed", "packed_mxfp4" });
    if (const std::string quantization = from.fields().text("quantization", ""); !quantization.empty()) {
        if (lowered(quantization) != "mxfp4")
            from.fields().fail("quantization", "cannot be '" + quantization + "'", "use mxfp4, or leave it out");
        layer.packedMxfp4 = true;
    }
    if (from.error())
        return *from.error();
    auto answer = shardStackedMoe(layer, from.where());
    if (!answer.ok())
        return answer.error();
    const StackedMoeAnswer& a = answer.value();
    json keys { { "gate", "replicate" },
                { "gate_up", a.gateUp },
                { "down", a.down },
                { "gate_up_strategy", maxName(a.gateUpStrategy.kind) },
                { "gate_up_dim", a.gateUpStrategy.dim },
                { "down_strategy", maxName(a.downStrategy.kind) },
                { "down_dim", a.downStrategy.dim } };
    if (a.gateUpScales) {
        keys["gate_up_scales"] = *a.gateUpScales;
        keys["down_scales"] = *a.downScales;
    }
    if (a.gateUpBias) {
        keys["gate_up_bias"] = *a.gateUpBias;
        keys["down_bias"] = *a.downBias;
        keys["down_bias_divided_by"] = layer.strategy.devices;
    }
    return Answer { std::move(keys), a.findings };
}

struct Module {
    const char* name;
    const char* parameters;
    Result<Answer> (*run)(ModuleParameters&);
};

constexpr std::array<Module, 9> kModules { {
    { "Linear", "weight_shape [out, in] (or out_dim, in_dim), strategy and its own parameters, has_bias, scales, block_size",
      linear },
    { "Linear.bias", "weight_shape [out, in], strategy", linearBias },
    { "Linear.scales",
      "weight_shape [out, in], strategy and its own parameters, scales per_tensor|per_row|block, block_size [128, 128]",
      linearScales },
    { "ColumnParallelLinear", "in_dim, out_dim, has_bias, tied_weight, scaled_quantization, dtype, input_shape [in_dim]",
      columnParallelLinear },
    { "MLP", "hidden, ffl, strategy replicate|tensor_parallel", mlp },
    { "Attention", "hidden, num_heads, num_kv_heads, head_dim, stacked_qkv, strategy replicate|tensor_parallel", attention },
    { "MoE.gate", "num_experts, hidden, strategy replicate", moeGate },
    { "MoE", "num_experts, moe_dim, hidden, ep_size, n_nodes, node_id, strategy tensor_parallel|expert_parallel", moe },
    { "StackedMoE",
      "num_experts, hidden, moe_dim, gate_up_format concatenated|interleaved, has_bias, quantization mxfp4, "
      "strategy tensor_parallel",
      stackedMoe },
} };

std::string moduleNames()
{
    std::vector<std::string> names;
    for (const Module& module : kModules)
        names.emplace_back(module.name);
    return joined(names);
}

} // namespace

Result<json> answerModule(const json& request, const std::string& file)
{
    static const json kNone = json::object();
    JsonFields top(request, file, "");
    const std::string name = top.text("module");
    const json* parameters = top.find("params");
    if (top.error())
        return *top.error();
    const auto module = std::ranges::find_if(kModules, [&](const Module& m) { return lowered(name) == lowered(m.name); });
    if (module == kModules.end())
        return inputError(top.place("module"), "there is no module '" + name + "'", "modules are " + moduleNames());
    ModuleParameters from(parameters ? *parameters : kNone, file);
    auto answer = module->run(from);
    if (!answer.ok())
        return answer.error();
    std::vector<Finding> findings = std::move(answer.value().findings);
    const json left = from.fields().leftOver();
    for (const auto& item : left.items())
        findings.push_back({ "unknown-parameter", Severity::Warning, "params." + item.key(), 0,
                             std::string(module->name) + " has no such parameter; it is not used",
                             std::string("its parameters are num_devices, ") + module->parameters });
    json out = std::move(answer.value().keys);
    out["findings"] = findingsJson(findings);
    return out;
}

std::string moduleHelp()
{
    std::string out = "REQUEST is a file or - with {\"module\": NAME, \"params\": {\"num_devices\": N, …}}. Modules "
                      "and parameters:\n";
    for (const Module& module : kModules)
        out += "  " + std::string(module.name) + ": " + module.parameters + "\n";
    return out;
}

} // namespace shardboard
