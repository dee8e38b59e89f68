// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/max/maxforms.h"

#include "model/design/layoutstrategy.h"
#include "model/io/exports/exportrefusals.h"
#include "model/notation/canonical.h"
#include "model/notation/notation.h"

#include <algorithm>

namespace shardboard {

namespace {

/// The only mesh axis of more than one device that a strategy cuts over; nothing when there are several or none.
std::optional<int> singleAxis(const Strategy& strategy, const Mesh& mesh)
{
    std::optional<int> out;
    for (const std::string& name : strategy.axes) {
        const int axis = mesh.find(name);
        if (axis < 0 || mesh.axis(axis).size == 1)
            continue;
        if (out)
            return std::nullopt;
        out = axis;
    }
    return out;
}

std::string segmentsCode(const std::vector<StrategySegment>& segments)
{
    std::string out;
    for (const StrategySegment& segment : segments)
        out += (out.empty() ? "" : ", ")
            + (segment.numHeads > 0
                   ? "Segment.head_aware(" + std::to_string(segment.numHeads) + ", " + std::to_string(segment.headDim) + ")"
                   : "Segment.even(" + std::to_string(segment.size) + ")");
    return "[" + out + "]";
}

/// The dim's number beside the word, because MAX's rowwise is column-parallel for everybody else.
std::string elsewhere(int dim, std::size_t rank)
{
    const std::string text = "dim " + std::to_string(dim);
    if (rank != 2)
        return text;
    return text + (dim == 0 ? ", column-parallel elsewhere" : ", row-parallel elsewhere");
}

std::optional<MaxStrategy> strategyOver(const Strategy& strategy, std::size_t rank, const Mesh& mesh)
{
    if (strategy.kind == StrategyKind::Replicate)
        return MaxStrategy { {}, "ShardingStrategy.replicate(" + std::to_string(mesh.deviceCount()) + ")", "no dim" };
    const auto axis = singleAxis(strategy, mesh);
    if (!axis)
        return std::nullopt;
    const std::string devices = std::to_string(mesh.axis(*axis).size);
    const int written = parametersOf(strategy.kind).dim ? strategy.dim : defaultDim(strategy.kind);
    const int dim = written < 0 ? written + static_cast<int>(rank) : written;
    const std::string at = std::to_string(dim);
    const std::string heads = std::to_string(strategy.numHeads) + ", " + std::to_string(strategy.headDim);
    MaxStrategy out { mesh.axis(*axis).name, {}, {} };
    switch (strategy.kind) {
    case StrategyKind::Rowwise:
        out.code = "rowwise(" + devices + ")";
        out.meaning = elsewhere(0, rank);
        break;
    case StrategyKind::Columnwise:
        out.code = "columnwise(" + devices + ")";
        out.meaning = elsewhere(1, rank);
        break;
    case StrategyKind::Axiswise:
        out.code = "axiswise(" + at + ", " + devices + ")";
        out.meaning = "dim " + at;
        break;
    case StrategyKind::HeadAwareColumnwise:
        out.code = "head_aware_columnwise(" + devices + ", " + heads + ")";
        out.meaning = elsewhere(1, rank) + ", in whole heads";
        break;
    case StrategyKind::StackedQkv:
        out.code = "stacked_qkv(" + devices + ", " + heads + ")";
        out.meaning = elsewhere(0, rank) + ", Q, K and V each";
        break;
    case StrategyKind::GateUp:
        out.code = "gate_up(" + devices + ", axis=" + at + ")";
        out.meaning = "dim " + at + ", gate and up each";
        break;
    case StrategyKind::Segmented:
        out.code = "segmented(" + devices + ", " + at + ", " + segmentsCode(strategy.segments) + ")";
        out.meaning = elsewhere(dim, rank) + (strategy.segments.size() > 1 ? ", each segment" : ", in whole heads");
        break;
    default:
        return std::nullopt;
    }
    out.code = "ShardingStrategy." + out.code;
    return out;
}

/// Whether a dim is cut as MAX does: balanced, or in equal parts. In segments, each of them.
bool cutAsMax(const DimCut& cut, std::int64_t size)
{
    if (cut.count() == 1 || cut.rule() == CutRule::Balanced || cut.rule() == CutRule::Strict)
        return true;
    return cut.segments().size() == 1 && (cut.isBalanced() || (cut.segments().front().unit == 1 && size % cut.count() == 0));
}

/// Whole heads, or other units, of a dim that is no fused one: heads over one mesh axis, the first ones one more.
std::optional<Strategy> headsOf(const WeightLayout& weight, const Mesh& mesh)
{
    std::optional<Strategy> out;
    for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim) {
        const DimCut& cut = weight.shards.cuts()[dim];
        if (cut.count() == 1)
            continue;
        const CutSegment& segment = cut.segments().front();
        const std::int64_t size = weight.spec.shape[dim];
        if (out || cut.axes().size() != 1 || cut.segments().size() != 1 || segment.unit == 1 || size % segment.unit != 0
            || segment.numerator != segment.denominator
            || (cut.rule() != CutRule::GrainBalanced && cut.rule() != CutRule::Balanced))
            return std::nullopt;
        out = Strategy { dim == 1 ? StrategyKind::HeadAwareColumnwise : StrategyKind::Segmented,
                         { mesh.axis(cut.axes().front().axis).name },
                         static_cast<int>(dim) };
        out->numHeads = size / segment.unit;
        out->headDim = segment.unit;
        out->segments = { { 0, size / segment.unit, segment.unit } };
    }
    return out;
}

/// The strategy of the design, or one that has the same layout.
std::optional<MaxStrategy> strategyOfWeight(const WeightLayout& weight, const Mesh& mesh)
{
    const std::size_t rank = weight.spec.shape.size();
    if (std::ranges::any_of(weight.layout.dims, [](const auto& axes) {
            return std::ranges::any_of(axes, [](const AxisRef& ref) { return !ref.whole(); });
        }))
        return std::nullopt;
    bool asMax = true;
    for (std::size_t dim = 0; dim < rank; ++dim)
        asMax = asMax && cutAsMax(weight.shards.cuts()[dim], weight.spec.shape[dim]);
    const bool written = weight.entry >= 0 && weight.strategy.kind != StrategyKind::Spec;
    if (asMax && written)
        return strategyOver(weight.strategy, rank, mesh);
    if (!asMax) {
        const auto heads = headsOf(weight, mesh);
        return heads ? strategyOver(*heads, rank, mesh) : std::nullopt;
    }
    return strategyOver(strategyOf(withoutSizeOneAxes(weight.layout, mesh), mesh), rank, mesh);
}

} // namespace

Result<std::string> placementsCode(const Layout& written, const Mesh& mesh)
{
    const Layout layout = withoutSizeOneAxes(written, mesh);
    auto text = writeLayout(Notation::Max, layout, mesh);
    if (!text.ok())
        return text;
    std::string code;
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        std::string placement = "Replicated()";
        for (std::size_t dim = 0; dim < layout.dims.size(); ++dim)
            for (const AxisRef& ref : layout.dims[dim])
                if (ref.axis == axis)
                    placement = "Sharded(" + std::to_string(dim) + ")";
        for (const AxisRef& ref : layout.partial)
            if (ref.axis == axis)
                placement = "Partial()";
        code += placement + (axis + 1 < mesh.axisCount() ? ", " : axis == 0 ? "," : "");
    }
    return "(" + code + ")";
}

std::optional<Error> otherMaxParts(const std::string& name, const Shape& shape, const Layout& written, const Mesh& mesh,
                                   PickerProfile profile)
{
    const Layout layout = withoutSizeOneAxes(written, mesh);
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        const std::int64_t parts = partsOf(layout.dims[dim], mesh);
        if (parts > 1 && shape[dim] == 1)
            return inputError(name, "MAX cuts no dim of size 1, as dim " + std::to_string(dim) + " is", "leave the dim whole");
        if (isEarly(profile) && layout.dims[dim].size() > 1 && shape[dim] % parts != 0)
            return inputError(name,
                              "MAX of profile " + profileName(profile) + " cuts dim " + std::to_string(dim) + " of size "
                                  + std::to_string(shape[dim]) + " over one mesh axis after the other, and the plan over "
                                  + std::to_string(parts) + " devices at once",
                              "cut it evenly, or design for max-26.7");
    }
    return std::nullopt;
}

MaxForms maxFormsOf(const WeightLayout& weight, const Mesh& mesh, PickerProfile profile)
{
    MaxForms out;
    const std::string& name = weight.spec.name;
    if (weight.misfit || weight.unknownShape) {
        out.refused = weightRefusal(weight, mesh, { .framework = "MAX", .cut = CutRule::Balanced, .partial = true });
        return out;
    }
    const auto placements = placementsCode(weight.layout, mesh);
    if (!placements.ok()) {
        out.refused = placements.error();
        out.refused->where = name;
        out.refused->what = "MAX cannot say its layout: " + out.refused->what;
    } else {
        out.refused = otherMaxParts(name, weight.spec.shape, weight.layout, mesh, profile);
        if (!out.refused)
            out.refused = weightRefusal(weight, mesh, { .framework = "MAX", .cut = CutRule::Balanced, .partial = true });
    }
    if (!out.refused)
        out.placements = placements.value();
    if (weight.spec.role == TensorRole::Weight && weight.layout.partial.empty())
        out.strategy = strategyOfWeight(weight, mesh);
    if (out.strategy)
        out.refused.reset();
    return out;
}

} // namespace shardboard
