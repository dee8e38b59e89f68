// SPDX-License-Identifier: Apache-2.0
#include "model/formats/modulejson.h"

#include "model/core/text.h"
#include "model/formats/jsonfields.h"
#include "model/modules/attention.h"
#include "model/modules/columnparallel.h"
#include "model/modules/linear.h"
#include "model/modules/mlp.h"
#include "model/modules/moe.h"
#include "model/modules/stackedmoe.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace shardboard {

using nlohmann::json;

namespace {

std::string maxName(StrategyKind kind)
{
    std::string name = strategyKindName(kind);
    std::replace(name.begin(), name.end(), '-', '_');
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

/// Parameters of a request. What is wrong first sticks, as in JsonFields.
class Parameters {
public:
    Parameters(const json& value, const std::string& file)
        : m_fields(value, file, "params")
    {
        m_fields.nullIsAbsent();
    }

    std::string where() const { return m_fields.place(); }
    const std::optional<Error>& error() const { return m_fields.error(); }
    JsonFields& fields() { return m_fields; }

    /// The first of several names that is there; the first name when none is.
    const char* present(std::initializer_list<const char*> names)
    {
        const char* found = nullptr;
        for (const char* name : names) // asks for all, so that none counts as unknown
            if (m_fields.find(name) && !found)
                found = name;
        return found ? found : *names.begin();
    }

    std::int64_t size(std::initializer_list<const char*> names, std::optional<std::int64_t> fallback = std::nullopt)
    {
        return m_fields.integer(present(names), 1, kLargestModuleSize, fallback);
    }

    std::int64_t devices()
    {
        constexpr std::int64_t kAny = std::int64_t { 1 } << 31;
        if (const json* list = m_fields.find("devices"); list && list->is_array())
            return static_cast<std::int64_t>(list->size());
        return m_fields.integer(present({ "num_devices", "devices" }), -kAny, kAny);
    }

    ModuleStrategy strategy(std::optional<std::string> fallback = std::nullopt)
    {
        ModuleStrategy out;
        const std::string name = m_fields.text("strategy", fallback);
        const auto kind = strategyKindFromName(name);
        if (!m_fields.error() && (!kind || *kind == StrategyKind::Spec))
            m_fields.fail(
                "strategy", "there is no strategy '" + name + "'",
                "strategies are replicate, rowwise, columnwise, axiswise, head_aware_columnwise, stacked_qkv, gate_up, "
                "segmented, tensor_parallel and expert_parallel");
        out.strategy.kind = kind.value_or(StrategyKind::Replicate);
        out.devices = devices();
        return out;
    }

    /// The strategy of one weight, with its own parameters.
    ModuleStrategy weightStrategy()
    {
        ModuleStrategy out = strategy();
        const StrategyParameters has = parametersOf(out.kind());
        if (has.heads) {
            out.strategy.numHeads = size({ "num_heads" }, 0);
            out.strategy.headDim = size({ "head_dim" }, 0);
        }
        if (has.dim)
            out.strategy.dim
                = static_cast<int>(m_fields.integer(present({ "axis", "dim" }), -16, 15, defaultDim(out.kind())));
        if (has.segments)
            readSegments(out.strategy);
        return out;
    }

    /// [out, in] of a Linear.
    void linearShape(LinearParameters& linear)
    {
        if (!m_fields.find("weight_shape")) {
            linear.outDim = size({ "out_dim" });
            linear.inDim = size({ "in_dim" });
            return;
        }
        const auto shape = m_fields.integers("weight_shape", 1, kLargestModuleSize);
        if (shape.size() != 2)
            return m_fields.fail("weight_shape", "has " + std::to_string(shape.size()) + " sizes", "write [out, in]");
        linear.outDim = shape[0];
        linear.inDim = shape[1];
    }

    std::optional<LinearScales> scales(bool required)
    {
        if (!required && !m_fields.find("scales"))
            return std::nullopt;
        static const std::pair<const char*, LinearScales::Kind> kKinds[]
            = { { "per_tensor", LinearScales::Kind::Tensor },
                { "per_row", LinearScales::Kind::Row },
                { "block", LinearScales::Kind::Block } };
        LinearScales out;
        const std::string name = m_fields.text("scales");
        const auto found
            = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& kind) { return name == kind.first; });
        if (found == std::end(kKinds)) {
            m_fields.fail("scales", "cannot be '" + name + "'", "use per_tensor, per_row or block");
            return std::nullopt;
        }
        out.kind = found->second;
        if (const auto block = m_fields.integers("block_size", 1, kLargestModuleSize); block.size() == 2) {
            out.blockRows = block[0];
            out.blockColumns = block[1];
        } else if (!block.empty()) {
            m_fields.fail("block_size", "has " + std::to_string(block.size()) + " sizes", "write [rows, columns]");
        }
        return out;
    }

private:
    void readSegments(Strategy& strategy)
    {
        const json* list = m_fields.find("segments");
        if (!list || !list->is_array())
            return m_fields.fail("segments", "a list of segments is expected",
                                 "write [{\"size\": N}, {\"num_heads\": H, \"head_dim\": D}]");
        for (const json& item : *list) {
            JsonFields fields(item, m_fields.place("segments[" + std::to_string(strategy.segments.size()) + "]"), "");
            StrategySegment segment;
            if (fields.find("num_heads")) {
                segment.numHeads = fields.integer("num_heads", 1, kLargestModuleSize);
                segment.headDim = fields.integer("head_dim", 1, kLargestModuleSize);
            } else {
                segment.size = fields.integer("size", 1, kLargestModuleSize);
            }
            if (fields.error())
                return m_fields.adopt(*fields.error());
            strategy.segments.push_back(segment);
        }
    }

    JsonFields m_fields;
};

/// An answer with the findings of the module.
struct Answer {
    json keys;
    std::vector<Finding> findings;
};

Result<Answer> linear(Parameters& from)
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

Result<Answer> linearBias(Parameters& from)
{
    LinearParameters linear;
    from.linearShape(linear);
    linear.strategy = from.strategy();
    linear.strategy.strategy.dim = static_cast<int>(
        from.fields().integer(from.present({ "axis", "dim" }), -2, 1, std::min(1, defaultDim(linear.strategy.kind()))));
    from.present({ "num_heads", "head_dim" }); // the bias does not need them
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

Result<Answer> linearScales(Parameters& from)
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

/// Whether any of these is there and says something else than false.
bool says(Parameters& from, std::initializer_list<const char*> names)
{
    bool out = false;
    for (const char* name : names)
        if (const json* value = from.fields().find(name))
            out = out || !(value->is_boolean() && !value->get<bool>());
    return out;
}

Result<Answer> columnParallelLinear(Parameters& from)
{
    ColumnParallelParameters layer;
    layer.inDim = from.size({ "in_dim" });
    layer.outDim = from.size({ "out_dim" });
    layer.devices = from.devices();
    layer.hasBias = from.fields().flag("has_bias", false);
    layer.tiedWeight = says(from, { "tied_weight" });
    layer.scaledQuantization
        = says(from, { "scaled_quantization", "quantization", "quant_config", "float8_config", "scales" });
    layer.inputShape = from.fields().integers("input_shape", 0, kLargestModuleSize);
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

Result<Answer> mlp(Parameters& from)
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

Result<Answer> attention(Parameters& from)
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
Result<Answer> moe(Parameters& from)
{
    MoeParameters layer;
    layer.strategy = from.strategy();
    const bool known = layer.strategy.kind() == StrategyKind::TensorParallel
        || layer.strategy.kind() == StrategyKind::ExpertParallel;
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

Result<Answer> moeGate(Parameters& from)
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

Result<Answer> stackedMoe(Parameters& from)
{
    StackedMoeParameters layer;
    layer.strategy = from.strategy();
    const std::optional<std::int64_t> unless
        = layer.strategy.kind() == StrategyKind::TensorParallel ? std::nullopt : std::optional<std::int64_t>(1);
    layer.experts = from.size({ "num_experts" }, unless);
    layer.hidden = from.size({ "hidden", "hidden_dim", "hidden_size" }, unless);
    layer.moeDim = from.size({ "moe_dim" }, unless);
    const std::string format = from.fields().text("gate_up_format", "concatenated");
    if (format != "concatenated" && format != "interleaved")
        from.fields().fail("gate_up_format", "cannot be '" + format + "'", "use concatenated or interleaved");
    layer.interleaved = format == "interleaved";
    layer.hasBias = from.fields().flag("has_bias", false);
    layer.packedMxfp4 = says(from, { "mxfp4", "packed", "packed_mxfp4" });
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
    Result<Answer> (*run)(Parameters&);
};

constexpr std::array<Module, 9> kModules { {
    { "Linear",
      "weight_shape [out, in] (or out_dim, in_dim), strategy and its own parameters, has_bias, scales, block_size",
      linear },
    { "Linear.bias", "weight_shape [out, in], strategy", linearBias },
    { "Linear.scales",
      "weight_shape [out, in], strategy and its own parameters, scales per_tensor|per_row|block, block_size [128, 128]",
      linearScales },
    { "ColumnParallelLinear", "in_dim, out_dim, has_bias, tied_weight, scaled_quantization, input_shape [in_dim]",
      columnParallelLinear },
    { "MLP", "hidden, ffl, strategy replicate|tensor_parallel", mlp },
    { "Attention", "hidden, num_heads, num_kv_heads, head_dim, stacked_qkv, strategy replicate|tensor_parallel",
      attention },
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
    const auto module = std::find_if(kModules.begin(), kModules.end(),
                                     [&](const Module& m) { return lowered(name) == lowered(m.name); });
    if (module == kModules.end())
        return inputError(top.place("module"), "there is no module '" + name + "'", "modules are " + moduleNames());
    Parameters from(parameters ? *parameters : kNone, file);
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
