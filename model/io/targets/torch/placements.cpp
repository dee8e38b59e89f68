// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/torch/placements.h"

#include "model/io/exports/exportrefusals.h"
#include "model/text/text.h"

#include <algorithm>
#include <unordered_map>

namespace shardboard {

namespace {

const TargetLimits& limitsOfTorch()
{
    static const TargetLimits kLimits { .framework = "PyTorch", .cut = CutRule::CeilNested, .stages = true, .partial = true };
    return kLimits;
}

/// In how many parts the dim is cut before this axis cuts each of them: the fused parts, times the later mesh axes that the order
/// of the dim puts first.
std::int64_t splitFactor(const std::vector<AxisRef>& order, std::size_t place, const Mesh& mesh, std::int64_t fused)
{
    std::int64_t factor = fused;
    for (std::size_t i = 0; i < place; ++i)
        if (order[i].axis > order[place].axis)
            factor *= sizeOf(order[i], mesh);
    return factor;
}

std::int64_t fusedParts(const std::vector<DimCut>& cuts, std::size_t dim)
{
    return cuts.empty() ? 1 : static_cast<std::int64_t>(cuts[dim].segments().size());
}

/// Parts of one size, side by side from the first element, each of which divides: what a strided shard cuts.
bool isEvenlyFused(const DimCut& cut, std::int64_t size)
{
    const std::vector<CutSegment>& segments = cut.segments();
    const std::int64_t part = size / static_cast<std::int64_t>(segments.size());
    for (std::size_t i = 0; i < segments.size(); ++i) {
        const CutSegment& segment = segments[i];
        if (segment.begin != static_cast<std::int64_t>(i) * part || segment.size != part || segment.numerator != segment.denominator
            || part % segment.unit != 0 || part / segment.unit % cut.count() != 0)
            return false;
    }
    return true;
}

/// Whether torch's shards, strided where a dim is fused, are those of the plan.
bool isSaidByStrides(const WeightLayout& weight)
{
    if (weight.misfit || weight.unknownShape
        || std::ranges::any_of(weight.layout.partial, [](const AxisRef& ref) { return !ref.whole(); }))
        return false;
    for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim) {
        const std::vector<AxisRef>& axes = weight.layout.dims[dim];
        if (std::ranges::any_of(axes, [](const AxisRef& ref) { return !ref.whole(); })
            || !isEvenlyFused(weight.shards.cuts()[dim], weight.spec.shape[dim]))
            return false;
    }
    return true;
}

/// Axes in another order on a dim that they do not divide.
std::optional<Error> unevenStride(const WeightLayout& weight, const Mesh& mesh)
{
    for (std::size_t dim = 0; dim < weight.layout.dims.size(); ++dim) {
        const std::vector<AxisRef>& order = weight.layout.dims[dim];
        const std::int64_t parts = partsOf(order, mesh);
        bool strided = false;
        for (std::size_t place = 0; place < order.size(); ++place)
            strided = strided || (sizeOf(order[place], mesh) > 1 && splitFactor(order, place, mesh, 1) > 1);
        if (strided && weight.spec.shape[dim] % parts != 0)
            return inputError(weight.spec.name,
                              "dim " + std::to_string(dim) + " of size " + std::to_string(weight.spec.shape[dim])
                                  + " does not divide by " + std::to_string(parts)
                                  + ", and its mesh axes are in another order than in the mesh: torch says that "
                                    "by strided shards, which need equal parts",
                              "name the mesh axes in the order of the mesh, or pad the dim to a multiple of "
                                  + std::to_string(parts));
    }
    return std::nullopt;
}

} // namespace

std::string placementsCode(const Layout& layout, const Mesh& mesh, int leftOut, const std::vector<DimCut>& cuts)
{
    std::vector<std::string> placements(static_cast<std::size_t>(mesh.axisCount()), "R");
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim) {
        const std::vector<AxisRef>& order = layout.dims[dim];
        for (std::size_t place = 0; place < order.size(); ++place) {
            const bool cutting = sizeOf(order[place], mesh) > 1; // an axis of one device cuts nothing
            const std::int64_t factor = cutting ? splitFactor(order, place, mesh, fusedParts(cuts, dim)) : 1;
            placements[static_cast<std::size_t>(order[place].axis)] =
                factor == 1 ? "S(" + std::to_string(dim) + ")" : "_S(" + std::to_string(dim) + ", " + std::to_string(factor) + ")";
        }
    }
    for (const AxisRef& ref : layout.partial)
        placements[static_cast<std::size_t>(ref.axis)] = layout.op == ReduceOp::Sum ? "Partial(\"sum\")"
            : layout.op == ReduceOp::Max                                            ? "Partial(\"max\")"
                                                                                    : "Partial(\"min\")";
    if (leftOut >= 0)
        placements.erase(placements.begin() + leftOut);
    return "(" + joined(placements) + (placements.size() == 1 ? ",)" : ")");
}

Result<std::vector<ExportRefusal>> torchRefusals(const Design& design, const Evaluation& evaluation,
                                                 const std::function<bool()>& stopped)
{
    auto out = commonRefusals(design, evaluation, limitsOfTorch(), stopped);
    if (!out.ok())
        return out;
    std::unordered_map<std::string, std::string> said; // by name: what would be wrong with plain shards
    for (const WeightLayout& weight : evaluation.weights)
        if (const auto error = weightRefusal(weight, design.mesh, limitsOfTorch())) {
            if (isSaidByStrides(weight))
                said.emplace(weight.spec.name, error->what);
        } else if (auto uneven = unevenStride(weight, design.mesh))
            out.value().push_back({ std::move(*uneven), weight.copies });
    std::erase_if(out.value(), [&](const ExportRefusal& refusal) {
        const auto known = said.find(refusal.error.where);
        return known != said.end() && known->second == refusal.error.what;
    });
    return out;
}

} // namespace shardboard
