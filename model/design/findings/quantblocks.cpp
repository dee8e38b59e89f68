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

/// What engines do with a part that is no whole number of blocks. vLLM and SGLang: validate_fp8_block_shape ("... is not divisible
/// by weight quantization block_n"), and "The input size is not aligned with the quantized weight shape" of GPTQ and AWQ. gpt-oss's
/// MXFP4 is cut by both in whole blocks, of which the last device has fewer.
std::string enginesText(const std::string& format)
{
    if (format == "mxfp4")
        return "vLLM and SGLang give each device whole blocks, and the last one fewer";
    return "vLLM and SGLang refuse such a part when they load the model";
}

/// Of weights of a graph, whose scales go with them.
void checkPacked(const FinderInput& input, const WeightLayout& weight, FindingList& out)
{
    const WeightPacking& packing = weight.spec.packing;
    const std::size_t dims = weight.spec.shape.size();
    if (!packing.present() || dims < 2 || weight.misfit)
        return;
    const PackedWeights* packed = input.design.model.packedAs(weight.spec.name);
    const std::string format = packed == nullptr ? std::string("packed") : packed->format;
    for (const std::size_t dim : { dims - 2, dims - 1 }) {
        const std::int64_t block = dim + 1 == dims ? packing.inBlock : packing.outBlock;
        const DimCut& cut = weight.shards.cuts()[dim];
        if (block < 2 || !cutsThrough(cut, block))
            continue;
        WeightLayout grained = weight;
        grained.spec.grains.assign(dims, 1);
        grained.spec.grains[dim] = block;
        out.add({ kQuantBlockSplit, Severity::Warning, weight.spec.name, 0,
                  "block " + countText(block) + " of " + format + " does not divide " + countText(cut.largest()) + ": dim "
                      + std::to_string(dim) + " of " + countText(weight.spec.shape[dim])
                      + " is cut inside its quantization blocks over " + countText(cut.count()) + " devices of "
                      + axesText(cut.axes(), input.mesh()),
                  "cut in whole blocks, over fewer devices; " + enginesText(format) },
                wholeBlocks(input, grained));
    }
}

} // namespace

void findQuantBlocksSplit(const FinderInput& input, FindingList& out)
{
    if (input.design.model.hasGraph()) {
        if (!input.design.model.packed.empty())
            for (const WeightLayout& weight : input.evaluation.weights)
                checkPacked(input, weight, out);
        return;
    }
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
