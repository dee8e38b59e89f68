// SPDX-License-Identifier: Apache-2.0
#include "model/modules/linear.h"

#include <algorithm>

namespace shardboard {

namespace {

bool isColumnwise(StrategyKind kind) { return kind == StrategyKind::Columnwise || kind == StrategyKind::HeadAwareColumnwise; }

/// The dim of [out, in] that a strategy cuts, or -1.
int cutDimOf(const Strategy& strategy)
{
    if (strategy.kind == StrategyKind::Replicate)
        return -1;
    const int dim = parametersOf(strategy.kind).dim ? strategy.dim : defaultDim(strategy.kind);
    return dim < 0 ? dim + 2 : dim;
}

Finding biasFinding(const char* kind, Severity severity, std::string message, std::string repair)
{
    return { kind, severity, "bias", 0, std::move(message), std::move(repair) };
}

/// MAX tells the kinds apart by identity, so that a bias follows only rowwise and stacked-qkv.
void findBiasDefects(const Strategy& strategy, std::int64_t devices, std::vector<Finding>& findings)
{
    if (devices == 1)
        return;
    const std::string name = strategyKindName(strategy.kind);
    if (strategy.kind == StrategyKind::Rowwise || strategy.kind == StrategyKind::StackedQkv
        || strategy.kind == StrategyKind::Replicate || isColumnwise(strategy.kind))
        return;
    if (cutDimOf(strategy) == 0)
        findings.push_back(biasFinding("bias-shape", Severity::Error,
                                       "under " + name
                                           + " on dim 0 MAX keeps the bias whole on every device, but each device has only "
                                             "a part of the rows: the shapes do not fit",
                                       "cut the bias with the rows of the weight, or use rowwise"));
    else
        findings.push_back(biasFinding("bias-repeated", Severity::Error,
                                       "under " + name
                                           + " on dim 1 every device computes a partial sum and adds the whole bias: after "
                                             "the all-reduce it was added "
                                           + std::to_string(devices) + " times",
                                       "use columnwise, where only device 0 keeps the bias"));
}

std::int64_t blocks(std::int64_t size, std::int64_t block) { return (size + block - 1) / block; }

Shape scaleShape(const LinearParameters& from)
{
    switch (from.scales->kind) {
    case LinearScales::Kind::Tensor:
        return {};
    case LinearScales::Kind::Row:
        return { from.outDim, 1 };
    case LinearScales::Kind::Block:
        return { blocks(from.outDim, from.scales->blockRows), blocks(from.inDim, from.scales->blockColumns) };
    }
    return {};
}

Error blocksDoNotDivide(const std::string& what, std::int64_t count, std::int64_t devices, const std::string& where)
{
    return refusedBy("ValueError", where + ".scales",
                     std::to_string(count) + " blocks of scales along " + what + " do not divide over " + std::to_string(devices)
                         + " devices",
                     "use a number of devices that divides them");
}

/// Strategy of scales that have a value for each block of the weight.
Result<Strategy> blockScaleStrategy(const LinearParameters& from, const Shape& shape, const std::string& where)
{
    const Strategy& strategy = from.strategy.strategy;
    const std::int64_t devices = from.strategy.devices;
    switch (strategy.kind) {
    case StrategyKind::Replicate:
        return strategy;
    case StrategyKind::Rowwise:
        if (shape[0] % devices != 0)
            return blocksDoNotDivide("dim 0 (out)", shape[0], devices, where);
        return strategy;
    case StrategyKind::Columnwise:
    case StrategyKind::HeadAwareColumnwise: {
        if (shape[1] % devices != 0)
            return blocksDoNotDivide("dim 1 (in)", shape[1], devices, where);
        const bool whole = strategy.kind == StrategyKind::HeadAwareColumnwise && strategy.headDim % from.scales->blockColumns == 0;
        if (!whole)
            return plainStrategy(StrategyKind::Columnwise);
        Strategy heads = strategy;
        heads.headDim /= from.scales->blockColumns;
        return heads;
    }
    default:
        return inputError(where + ".strategy", "it is not defined how block scales follow " + strategyKindName(strategy.kind),
                          "use replicate, rowwise (dim 0), columnwise (dim 1) or head-aware-columnwise (dim 1)");
    }
}

Result<Strategy> scaleStrategy(const LinearParameters& from, const Shape& shape, const std::string& where)
{
    switch (from.scales->kind) {
    case LinearScales::Kind::Tensor:
        return plainStrategy(StrategyKind::Replicate);
    case LinearScales::Kind::Row:
        return isColumnwise(from.strategy.kind()) ? plainStrategy(StrategyKind::Replicate) : from.strategy.strategy;
    case LinearScales::Kind::Block:
        return blockScaleStrategy(from, shape, where);
    }
    return plainStrategy(StrategyKind::Replicate);
}

/// Every device must have the scales of the elements that it holds, and start at the edge of a block.
void findScaleDefects(const LinearParameters& from, const ShardMap& weight, const ShardMap& scales, std::vector<Finding>& findings)
{
    const bool byRow = from.scales->kind == LinearScales::Kind::Row;
    const std::int64_t block[2] = { byRow ? 1 : from.scales->blockRows, byRow ? from.inDim : from.scales->blockColumns };
    for (std::int64_t device = 0; device < from.strategy.devices; ++device) {
        const Shard held = weight.shardAt(device);
        const Shard scale = scales.shardAt(device);
        if (held.pieces.size() != 1 || scale.pieces.size() != 1 || held.elements() == 0)
            continue; // fused weights: their scales are cut by the same segments
        for (std::size_t dim = 0; dim < 2; ++dim) {
            const Range& w = held.pieces[0][dim];
            const Range& s = scale.pieces[0][dim];
            const bool whole = scales.cuts()[dim].count() == 1;
            const bool starts = whole || s.lo * block[dim] == w.lo;
            if (starts && s.lo * block[dim] <= w.lo && s.hi * block[dim] >= w.hi)
                continue;
            findings.push_back({ "block-cut", Severity::Error, "scales", 0,
                                 "device " + std::to_string(device) + " holds " + std::to_string(w.lo) + " to "
                                     + std::to_string(w.hi) + " of dim " + std::to_string(dim) + ", but its scales are those of "
                                     + std::to_string(s.lo * block[dim]) + " to " + std::to_string(s.hi * block[dim])
                                     + ", in blocks of " + std::to_string(block[dim]),
                                 "use a size that is a whole number of blocks on each device" });
            return;
        }
    }
}

} // namespace

Result<LinearBias> shardLinearBias(const LinearParameters& parameters, const std::string& where, std::vector<Finding>& findings)
{
    const ModuleStrategy& from = parameters.strategy;
    if (auto status = checkDevices(from.devices, where); !status.ok())
        return status.error();
    if (from.kind() == StrategyKind::TensorParallel || from.kind() == StrategyKind::ExpertParallel)
        return refusedBy("NotImplementedError", where + ".strategy",
                         strategyKindName(from.kind()) + " is a strategy of modules with several weights, not of a Linear",
                         "use rowwise (dim 0), columnwise (dim 1) or another strategy of weights");
    // Before MAX 26.4 the bias of a stacked QKV was cut rowwise, against the order of the weight's rows.
    LinearBias bias;
    bias.strategy =
        from.kind() == StrategyKind::Rowwise || from.kind() == StrategyKind::StackedQkv ? from.kind() : StrategyKind::Replicate;
    auto shapes = moduleShapes(from.kind() == StrategyKind::StackedQkv ? from.strategy : plainStrategy(bias.strategy), from.devices,
                               { parameters.outDim }, where);
    if (!shapes.ok())
        return shapes.error();
    bias.shapes = std::move(shapes).value();
    bias.kept.assign(static_cast<std::size_t>(from.devices), !isColumnwise(from.kind()));
    bias.kept.front() = true;
    findBiasDefects(from.strategy, from.devices, findings);
    return bias;
}

Result<LinearScaleShards> shardLinearScales(const LinearParameters& parameters, const std::string& where,
                                            std::vector<Finding>& findings)
{
    LinearScaleShards out;
    out.shape = scaleShape(parameters);
    auto strategy = scaleStrategy(parameters, out.shape, where);
    if (!strategy.ok())
        return strategy.error();
    out.strategy = strategy.value();
    const auto shards = moduleShards(out.strategy, parameters.strategy.devices, out.shape, where + ".scales");
    if (!shards.ok())
        return shards.error();
    out.shapes = shapesOf(shards.value());
    const auto weight =
        moduleShards(parameters.strategy.strategy, parameters.strategy.devices, { parameters.outDim, parameters.inDim }, where);
    if (!weight.ok())
        return weight.error();
    if (parameters.scales->kind != LinearScales::Kind::Tensor)
        findScaleDefects(parameters, weight.value(), shards.value(), findings);
    return out;
}

Result<LinearAnswer> shardLinear(const LinearParameters& parameters, const std::string& where)
{
    const ModuleStrategy& from = parameters.strategy;
    const auto shards = moduleShards(from.strategy, from.devices, { parameters.outDim, parameters.inDim }, where);
    if (!shards.ok())
        return shards.error();
    LinearAnswer answer;
    answer.weights = shapesOf(shards.value());
    for (const Shape& shape : answer.weights)
        answer.outDims.push_back(shape[0]);
    const bool cut = from.kind() == StrategyKind::Rowwise || from.kind() == StrategyKind::StackedQkv;
    answer.recordedOutDim = cut ? parameters.outDim / from.devices : parameters.outDim;
    if (const auto wrong = std::ranges::find_if(answer.outDims, [&](std::int64_t rows) { return rows != answer.recordedOutDim; });
        wrong != answer.outDims.end())
        answer.findings.push_back(
            { "recorded-out-dim", Severity::Warning, "out_dim", 0,
              "MAX records out_dim " + std::to_string(answer.recordedOutDim) + " for every shard, but device "
                  + std::to_string(wrong - answer.outDims.begin()) + " holds " + std::to_string(*wrong) + " rows",
              "take sizes from the weight's shard, or pad out_dim to a multiple of " + std::to_string(from.devices) });
    if (parameters.hasBias) {
        auto bias = shardLinearBias(parameters, where, answer.findings);
        if (!bias.ok())
            return bias.error();
        answer.bias = std::move(bias).value();
    }
    if (parameters.scales) {
        auto scales = shardLinearScales(parameters, where, answer.findings);
        if (!scales.ok())
            return scales.error();
        answer.scales = std::move(scales).value();
    }
    return answer;
}

} // namespace shardboard
