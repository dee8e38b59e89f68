// SPDX-License-Identifier: Apache-2.0
// Dims that do not divide by the devices they are cut over, where the cut was made all the same: more devices than
// elements (overflow), a rule's cut that JAX refuses (indivisible), shards that differ by an element (uneven).
#include "model/core/numbers.h"
#include "model/design/findings/finder.h"

namespace shardboard {

namespace {

/// What the fullest device holds beyond an even share.
std::int64_t wasted(const WeightLayout& weight, std::int64_t parts)
{
    std::int64_t even = bytesOf(weight.spec);
    for (const DimCut& cut : weight.shards.cuts())
        even /= cut.count();
    return parts > 1 && weight.bytesPerDevice > even ? inAllLayers(weight, weight.bytesPerDevice - even) : 0;
}

/// The weight with only those axes on a dim that divide it.
std::optional<Repair> fewerAxes(const FinderInput& input, const WeightLayout& weight)
{
    Layout layout = weight.layout;
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim)
        if (weight.spec.shape[dim] % partsOf(layout.dims[dim], input.mesh()) != 0
            || partsOf(layout.dims[dim], input.mesh()) > weight.spec.shape[dim])
            layout.dims[dim] = dividingAxes(weight, dim, layout.dims[dim], input.mesh());
    const auto proposal = propose(input, weight, layout);
    return giveStrategy(input, weight, proposal);
}

struct Uneven {
    const char* kind;
    Severity severity;
    std::string message;
    std::string repair;
};

Uneven describe(const WeightLayout& weight, std::size_t dim, std::int64_t parts, const Mesh& mesh)
{
    const std::int64_t size = weight.spec.shape[dim];
    const std::string what = "dim " + std::to_string(dim) + " of size " + countText(size);
    const std::string over = countText(parts) + " devices of " + axesText(weight.layout.dims[dim], mesh);
    const bool byRules = weight.resolution.has_value();
    if (parts > size)
        return { "overflow", Severity::Warning,
                 what + " is cut over " + over + ": " + countText(parts - size) + " of " + countText(parts)
                     + " shards are empty" + (byRules ? ", and JAX refuses it" : ""),
                 "cut it over fewer devices" };
    if (byRules)
        return { "indivisible", Severity::Warning,
                 what + " does not divide by the " + over + ": JAX refuses it (shown here cut balanced)",
                 "cut it over axes that divide it, or pad it to a multiple of " + countText(parts) };
    return { "uneven", Severity::Note,
             what + " does not divide by " + countText(parts) + ": shards differ by an element ("
                 + cutRuleName(weight.cut) + "); some export targets refuse this",
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
            out.add({ uneven.kind, uneven.severity, weight.spec.name, wasted(weight, parts), uneven.message,
                      uneven.repair },
                    fixable ? fewerAxes(input, weight) : std::nullopt);
        }
    }
}

} // namespace shardboard
