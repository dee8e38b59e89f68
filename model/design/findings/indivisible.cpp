// SPDX-License-Identifier: Apache-2.0
// Dims that do not divide by the devices they are cut over, where the cut was made all the same: more devices than
// elements (overflow), a rule's cut that JAX refuses (indivisible), shards that differ by an element (uneven).
#include "model/design/findings/finders.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"

#include <algorithm>
#include <numeric>

namespace shardboard {

namespace {

/// What the fullest device holds of a layer beyond an even share of the dim.
std::int64_t wasted(const WeightLayout& weight, std::size_t dim)
{
    const DimCut& cut = weight.shards.cuts()[dim];
    const std::int64_t ofElement = weight.bytesPerDevice / std::max<std::int64_t>(1, cut.largest());
    return std::max<std::int64_t>(0, weight.bytesPerDevice - ofElement * weight.spec.shape[dim] / cut.count());
}

/// The weight with only those axes on a dim that divide it, the others on a dim that they divide.
std::optional<Proposal> dividingCut(const FinderInput& input, const WeightLayout& weight)
{
    Layout layout = weight.layout;
    std::vector<AxisRef> left;
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim) {
        const std::vector<AxisRef> axes = layout.dims[dim];
        if (weight.spec.shape[dim] % partsOf(axes, input.mesh()) == 0 && partsOf(axes, input.mesh()) <= weight.spec.shape[dim])
            continue;
        layout.dims[dim] = dividingAxes(weight, dim, axes, input.mesh());
        for (const AxisRef& ref : axes)
            if (!contains(layout.dims[dim], ref))
                left.push_back(ref);
    }
    std::vector<std::size_t> largestFirst(layout.dims.size());
    std::iota(largestFirst.begin(), largestFirst.end(), std::size_t { 0 });
    std::ranges::stable_sort(largestFirst,
                             [&](std::size_t a, std::size_t b) { return weight.spec.shape[a] > weight.spec.shape[b]; });
    for (const AxisRef& ref : left)
        for (const std::size_t dim : largestFirst) {
            std::vector<AxisRef> axes = layout.dims[dim];
            axes.push_back(ref);
            if (!dividesInGrains(weight, dim, partsOf(axes, input.mesh())))
                continue;
            layout.dims[dim] = std::move(axes);
            break;
        }
    return propose(input, weight, layout);
}

/// A cut that divides. JAX refuses a rule's cut that does not, so that one that holds more is better than none there.
std::optional<Repair> repairOf(const FinderInput& input, const WeightLayout& weight)
{
    const auto proposal = dividingCut(input, weight);
    if (proposal && (weight.resolution || proposal->bytesPerDevice <= weight.bytesPerDevice))
        return giveStrategy(input, weight, *proposal);
    return std::nullopt;
}

struct Uneven {
    const char* kind;
    Severity severity;
    std::string message;
    std::string repair;
};

/// MAX writes down out / N, rounded down, as the out dim of every shard of a rowwise or stacked-qkv Linear (max-sharding 5.1).
std::string recordedByMax(const WeightLayout& weight, std::size_t dim, std::int64_t parts)
{
    const bool rows = weight.strategy.kind == StrategyKind::Rowwise || weight.strategy.kind == StrategyKind::StackedQkv;
    if (!rows || dim != 0 || weight.spec.shape.size() != 2)
        return {};
    return ", and MAX records an out dim of " + countText(weight.spec.shape[0] / parts) + " for each, also of those that hold more";
}

Uneven describe(const WeightLayout& weight, std::size_t dim, std::int64_t parts, const Mesh& mesh)
{
    const std::int64_t size = weight.spec.shape[dim];
    const std::string what = "dim " + std::to_string(dim) + " of size " + countText(size);
    const std::string over = countText(parts) + " devices of " + axesText(weight.layout.dims[dim], mesh);
    const bool byRules = weight.resolution.has_value();
    if (parts > size)
        return { "overflow", Severity::Warning,
                 what + " is cut over " + over + ": " + countText(parts - size) + " of " + countText(parts) + " shards are empty"
                     + (byRules ? ", and JAX refuses it" : ""),
                 "cut it over fewer devices" };
    if (byRules)
        return { "indivisible", Severity::Warning,
                 what + " does not divide by the " + over + ": JAX refuses it (shown here cut balanced)",
                 "cut it over axes that divide it, or pad it to a multiple of " + countText(parts) };
    return { "uneven", Severity::Note,
             what + " does not divide by " + countText(parts) + ": shards differ by an element (" + cutRuleName(weight.cut)
                 + "); some export targets refuse this" + recordedByMax(weight, dim, parts),
             "pad it to a multiple of " + countText(parts) };
}

} // namespace

void findIndivisible(const FinderInput& input, FindingList& out)
{
    for (const WeightLayout& weight : input.evaluation.weights) {
        if (weight.unknownShape || weight.misfit)
            continue;
        for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim) {
            const std::int64_t parts = partsOf(weight.layout.dims[dim], input.mesh());
            const std::int64_t size = weight.spec.shape[dim];
            if (parts == 1 || (size % parts == 0 && parts <= size))
                continue;
            const Uneven uneven = describe(weight, dim, parts, input.mesh());
            const bool fixable = uneven.severity != Severity::Note && !out.full(uneven.kind);
            out.add({ uneven.kind, uneven.severity, weight.spec.name, input.cost(weight, wasted(weight, dim)), uneven.message,
                      uneven.repair },
                    fixable ? repairOf(input, weight) : std::nullopt);
        }
    }
}

} // namespace shardboard
