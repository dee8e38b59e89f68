// SPDX-License-Identifier: Apache-2.0
#include "model/io/max/moduleparameters.h"

#include <algorithm>
#include <utility>

namespace shardboard {

using nlohmann::json;

ModuleParameters::ModuleParameters(const json& value, const std::string& file)
    : m_fields(value, file, "params")
{
    m_fields.nullIsAbsent();
}

const char* ModuleParameters::present(std::initializer_list<const char*> names)
{
    const char* found = nullptr;
    for (const char* name : names) // asks for all, so that none counts as unknown
        if (m_fields.find(name) && !found)
            found = name;
    return found ? found : *names.begin();
}

bool ModuleParameters::says(std::initializer_list<const char*> names)
{
    bool out = false;
    for (const char* name : names)
        if (const json* value = m_fields.find(name))
            out = out || !(value->is_boolean() && !value->get<bool>());
    return out;
}

std::int64_t ModuleParameters::size(std::initializer_list<const char*> names, std::optional<std::int64_t> fallback)
{
    return m_fields.integer(present(names), 1, kLargestModuleSize, fallback);
}

std::int64_t ModuleParameters::devices()
{
    constexpr std::int64_t kAny = std::int64_t { 1 } << 31;
    if (const json* list = m_fields.find("devices"); list && list->is_array())
        return static_cast<std::int64_t>(list->size());
    return m_fields.integer(present({ "num_devices", "devices" }), -kAny, kAny);
}

ModuleStrategy ModuleParameters::strategy(std::optional<std::string> fallback)
{
    ModuleStrategy out;
    const std::string name = m_fields.text("strategy", fallback);
    const auto kind = strategyKindFromName(name);
    if (!m_fields.error() && (!kind || *kind == StrategyKind::Spec))
        m_fields.fail("strategy", "there is no strategy '" + name + "'",
                      "strategies are replicate, rowwise, columnwise, axiswise, head_aware_columnwise, stacked_qkv, gate_up, "
                      "segmented, tensor_parallel and expert_parallel");
    out.strategy.kind = kind.value_or(StrategyKind::Replicate);
    out.devices = devices();
    return out;
}

ModuleStrategy ModuleParameters::weightStrategy()
{
    ModuleStrategy out = strategy();
    const StrategyParameters has = parametersOf(out.kind());
    if (has.heads) {
        out.strategy.numHeads = size({ "num_heads" }, 0);
        out.strategy.headDim = size({ "head_dim" }, 0);
    }
    if (has.dim)
        out.strategy.dim = static_cast<int>(m_fields.integer(present({ "axis", "dim" }), -16, 15, defaultDim(out.kind())));
    if (has.segments)
        readSegments(out.strategy);
    return out;
}

void ModuleParameters::linearShape(LinearParameters& linear)
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

std::optional<LinearScales> ModuleParameters::scales(bool required)
{
    if (!required && !m_fields.find("scales"))
        return std::nullopt;
    static constexpr std::pair<const char*, LinearScales::Kind> kKinds[] { { "per_tensor", LinearScales::Kind::Tensor },
                                                                           { "per_row", LinearScales::Kind::Row },
                                                                           { "block", LinearScales::Kind::Block } };
    LinearScales out;
    const std::string name = m_fields.text("scales");
    const auto found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& kind) { return name == kind.first; });
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

ColumnParallelParameters ModuleParameters::columnParallel()
{
    ColumnParallelParameters layer;
    layer.inDim = size({ "in_dim" });
    layer.outDim = size({ "out_dim" });
    layer.devices = devices();
    layer.hasBias = m_fields.flag("has_bias", false);
    layer.tiedWeight = says({ "tied_weight" });
    layer.scaledQuantization = says({ "scaled_quantization", "quantization", "quant_config", "float8_config", "scales" });
    layer.inputShape = m_fields.integers("input_shape", 0, kLargestModuleSize);
    const std::string dtype = m_fields.text("dtype", dtypeName(layer.dtype));
    if (const auto known = dtypeFromName(dtype))
        layer.dtype = *known;
    else
        m_fields.fail("dtype", "there is no dtype '" + dtype + "'", "use bf16, f16 or f32");
    return layer;
}

void ModuleParameters::readSegments(Strategy& strategy)
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

} // namespace shardboard
