// SPDX-License-Identifier: Apache-2.0
// Quantisation blocks that lie on two devices, and scales that are not cut like their weight: then a device lacks the
// scales of elements that it holds.
#include "model/design/quantblocks.h"
#include "model/design/finder/cutalignment.h"
#include "model/design/findings/finders.h"
#include "model/text/numbers.h"

namespace shardboard {

namespace {

constexpr const char* kQuantBlockSplit = "quant-block-split";

/// The weight cut in whole blocks: over axes that divide them, else by the grain-balanced rule, else not at all.
Repair wholeBlocks(const FinderInput& input, const WeightLayout& weight)
{
    Layout layout = weight.layout;
    bool same = true; // every cut dim stays cut
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim) {
        const bool cut = !layout.dims[dim].empty();
        layout.dims[dim] = dividingAxes(weight, dim, layout.dims[dim], input.mesh());
        same = same && (!cut || !layout.dims[dim].empty());
    }
    if (!same && weight.entry >= 0)
        if (const auto proposal = propose(input, weight, weight.strategy, CutRule::GrainBalanced))
            return giveStrategy(input, weight, *proposal);
    return giveStrategy(input, weight, propose(input, weight, layout).value_or(Proposal {}));
}

void checkScales(const FinderInput& input, const WeightLayout& weight, const WeightLayout& scales, std::size_t dim,
                 FindingList& out)
{
    const auto& own = scales.layout.dims[dim];
    if (scales.misfit || own.empty() || own == weight.layout.dims[dim])
        return; // whole scales, or cut like the weight
    out.add({ kQuantBlockSplit, Severity::Warning, scales.spec.name, 0,
              "dim " + std::to_string(dim) + " is cut over " + axesText(own, input.mesh()) + ", but that of " + weight.spec.name
                  + (weight.layout.dims[dim].empty() ? " is whole" : " over " + axesText(weight.layout.dims[dim], input.mesh()))
                  + ": devices lack the scales of elements that they hold",
              "cut the scales like the weight, or replicate them" },
            giveStrategy(input, scales, Proposal {}));
}

} // namespace

void findQuantBlocksSplit(const FinderInput& input, FindingList& out)
{
    if (input.design.model.hasGraph())
        return;
    for (const ScaledWeight& pair : scaledWeights(input.design.model)) {
        const WeightLayout& weight = input.evaluation.weights[pair.weight];
        const WeightLayout& scales = input.evaluation.weights[pair.scales];
        for (std::size_t dim = 0; dim < pair.block.size() && !weight.misfit; ++dim) {
            if (pair.block[dim] == 1)
                continue;
            const DimCut& cut = weight.shards.cuts()[dim];
            if (cutsThrough(cut, pair.block[dim]))
                out.add({ kQuantBlockSplit, Severity::Warning, weight.spec.name, 0,
                          "dim " + std::to_string(dim) + " has quantization blocks of " + countText(pair.block[dim]) + " elements ("
                              + scales.spec.name + ") and is cut inside them over " + countText(cut.count()) + " devices of "
                              + axesText(cut.axes(), input.mesh()),
                          "cut in whole blocks; vLLM and SGLang refuse a part that a block does not divide" },
                        wholeBlocks(input, weight));
            checkScales(input, weight, scales, dim, out);
        }
    }
}

} // namespace shardboard
