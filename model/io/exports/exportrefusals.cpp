// SPDX-License-Identifier: Apache-2.0
#include "model/io/exports/exportrefusals.h"

#include "model/io/shards/shardsjson.h"
#include "model/text/numbers.h"

#include <unordered_set>

namespace shardboard {

namespace {

std::string rangesText(const std::vector<Range>& ranges)
{
    std::string text;
    for (const Range& range : ranges)
        text += (text.empty() ? "" : " + ") + std::to_string(range.lo) + ":" + std::to_string(range.hi);
    return text.empty() ? "nothing" : text;
}

/// Ranges that lie side by side as one; empty ones are nothing.
std::vector<Range> joinedRanges(const std::vector<Range>& ranges)
{
    std::vector<Range> out;
    for (const Range& range : ranges) {
        if (range.size() == 0)
            continue;
        if (!out.empty() && out.back().hi == range.lo)
            out.back().hi = range.hi;
        else
            out.push_back(range);
    }
    return out;
}

/// Whether a dim has equal parts at once, without a look at each.
bool isEven(const DimCut& cut, std::int64_t size)
{
    const CutSegment& segment = cut.segments().front();
    return cut.segments().size() == 1 && segment.begin == 0 && segment.size == size && segment.numerator == segment.denominator
        && size % segment.unit == 0 && size / segment.unit % cut.count() == 0;
}

/// Why the framework has other parts of a dim than the plan: what is wrong and what to do.
std::optional<Error> otherParts(const std::string& name, std::size_t dim, std::int64_t size, const DimCut& cut, const Mesh& mesh,
                                const TargetLimits& limits)
{
    const std::int64_t parts = cut.count();
    const std::string text = "dim " + std::to_string(dim);
    if (size % parts != 0 && limits.cut == CutRule::Strict)
        return inputError(name,
                          limits.framework + " cannot cut " + text + " of size " + std::to_string(size) + " into "
                              + std::to_string(parts) + " equal parts",
                          "pad the dim to a multiple of " + std::to_string(parts) + " or cut it over other mesh axes");
    if (isEven(cut, size))
        return std::nullopt;
    for (std::int64_t i = 0; i < parts; ++i) {
        const std::vector<Range> held = joinedRanges(cut.part(i));
        const std::vector<Range> there = joinedRanges({ partRange(size, cut.axes(), mesh, { limits.cut, 1 }, i) });
        if (held == there)
            continue;
        const std::int64_t unit = cut.segments().front().unit;
        const bool fused = cut.segments().size() > 1;
        const std::string how = fused ? " is cut in " + std::to_string(cut.segments().size()) + " segments"
            : unit > 1                ? " is cut in whole units of " + std::to_string(unit)
                                      : " is cut by the rule " + cutRuleName(cut.rule());
        return inputError(name,
                          text + how + " over " + std::to_string(parts) + " devices: part " + std::to_string(i) + " is "
                              + rangesText(held) + ", in " + limits.framework + " " + rangesText(there),
                          fused ? "cut the dim as a whole, or not at all"
                              : unit > 1
                              ? "cut it over mesh axes that divide its " + std::to_string(size / unit) + " units, or evenly"
                              : "cut it evenly");
    }
    return std::nullopt;
}

Error partOfAxis(const std::string& name, const char* what, const AxisRef& ref, const Mesh& mesh, const TargetLimits& limits)
{
    return inputError(name, limits.framework + " cannot " + what + " over a part of mesh axis '" + mesh.axis(ref.axis).name + "'",
                      "split the mesh axis into two axes");
}

} // namespace

std::optional<Error> weightRefusal(const WeightLayout& weight, const Mesh& mesh, const TargetLimits& limits)
{
    const std::string& name = weight.spec.name;
    if (weight.misfit)
        return inputError(name, "its strategy cannot be applied, so that it is replicated instead: " + weight.misfit->error.what,
                          weight.misfit->error.fix.empty() ? "give it another strategy" : weight.misfit->error.fix);
    if (weight.unknownShape)
        return inputError(name, "its shape is not known, so it cannot be exported to " + limits.framework,
                          "open the model with its weight files");
    if (!weight.layout.partial.empty() && !limits.partial)
        return inputError(name,
                          "it is partial over mesh axis '" + mesh.axis(weight.layout.partial.front().axis).name + "', and in "
                              + limits.framework + " a device holds values of a weight, not terms of a sum",
                          "leave out unreduced");
    for (const AxisRef& ref : weight.layout.partial)
        if (!ref.whole() && !limits.subAxes)
            return partOfAxis(name, "sum", ref, mesh, limits);
    for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim) {
        for (const AxisRef& ref : weight.layout.dims[dim])
            if (!ref.whole() && !limits.subAxes)
                return partOfAxis(name, "cut", ref, mesh, limits);
        if (limits.ownCuts)
            continue;
        if (auto error = otherParts(name, dim, weight.spec.shape[dim], weight.shards.cuts()[dim], mesh, limits))
            return error;
    }
    return std::nullopt;
}

std::vector<std::string> namePatterns(const WeightLayout& weight, std::int64_t layers)
{
    if (weight.firstLayer < 0 || weight.copies == layers)
        return { weight.spec.name };
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < weight.copies; ++i)
        names.push_back(concreteName(weight.spec.name, weight.firstLayer + i));
    return names;
}

std::optional<ExportRefusal> predictedRefusal(const Design& design, const std::string& framework)
{
    if (effective(design.workload).predicted == 0)
        return std::nullopt;
    return ExportRefusal { inputError("workload",
                                      "the design predicts further tokens, and what " + framework
                                          + " calls the weights of the modules that do is not known",
                                      "export the design without them (`predicted` 0), or to a target that takes a layout for "
                                      "every weight") };
}

std::vector<ExportRefusal> packedRefusals(const Evaluation& evaluation, const std::string& framework, bool loadsPacked)
{
    std::vector<ExportRefusal> out;
    std::int64_t packed = 0;
    std::string first;
    for (const WeightLayout& weight : evaluation.weights) {
        if (!weight.spec.packing.present())
            continue;
        packed += weight.copies;
        first = first.empty() ? weight.spec.name : first;
        const std::size_t dims = weight.spec.shape.size();
        for (std::size_t dim = dims < 2 ? dims : dims - 2; loadsPacked && dim < dims; ++dim) {
            const std::int64_t block = dim + 1 == dims ? weight.spec.packing.inBlock : weight.spec.packing.outBlock;
            const std::int64_t part = weight.shards.cuts()[dim].largest();
            if (block > 1 && weight.shards.cuts()[dim].count() > 1 && part % block != 0)
                out.push_back({ inputError(weight.spec.name,
                                           "block " + std::to_string(block) + " does not divide " + std::to_string(part)
                                               + ", the part of dim " + std::to_string(dim) + " that a device has, and " + framework
                                               + " refuses to load such a packed weight",
                                           "cut it over fewer devices"),
                                weight.copies });
        }
    }
    if (packed > 0 && !loadsPacked)
        out.push_back(
            { inputError(first,
                         "the checkpoint has it packed, as tensors of other names and shapes (numbers, scales, zero points), and "
                             + framework + " is told layouts of plain weights",
                         "export to vllm or sglang, which load packed checkpoints themselves, or design the model unpacked"),
              packed });
    return out;
}

std::int64_t weightCount(const Evaluation& evaluation)
{
    std::int64_t count = 0;
    for (const WeightLayout& weight : evaluation.weights)
        count += weight.spec.role == TensorRole::Weight ? weight.copies : 0;
    return count;
}

Result<std::vector<ExportRefusal>> commonRefusals(const Design& design, const Evaluation& evaluation, const TargetLimits& limits,
                                                  const std::function<bool()>& stopped)
{
    std::vector<ExportRefusal> out;
    const int stages = design.mesh.find(design.pipeline.axis);
    if (!limits.stages && stages >= 0 && design.mesh.axis(stages).size > 1)
        out.push_back({ inputError("pipeline",
                                   "each layer lies on the devices of its stage alone, of which mesh axis '"
                                       + design.mesh.axis(stages).name + "' has " + std::to_string(design.mesh.axis(stages).size)
                                       + ", and in " + limits.framework + " every weight is on all devices of the mesh",
                                   "export a design without the pipeline, on the mesh of one stage") });
    if (design.pipeline.schedule == PipelineSchedule::DualPipe && stages >= 0 && design.mesh.axis(stages).size > 1 && out.empty())
        out.push_back({ inputError(
            "pipeline", "DualPipe has the weights of each stage on two stages, and in " + limits.framework + " a layer lies on one",
            "export the design with the schedule 1f1b, which has the same layouts in each stage") });
    if (const std::int64_t bytes = shardsJsonBytes(design.mesh, evaluation); bytes > kMostShardsBytes)
        out.push_back(
            { inputError("mesh",
                         "shards.json would take " + bytesText(bytes) + ", because it lists the ids of all "
                             + countText(design.mesh.deviceCount()) + " devices for each of " + countText(weightCount(evaluation))
                             + " weights, and more than " + bytesText(kMostShardsBytes) + " is not useful",
                         "export the design on a mesh with smaller axes or of fewer layers, which has the same layouts") });
    if (limits.ownModules)
        if (auto refusal = predictedRefusal(design, limits.framework))
            out.push_back(std::move(*refusal));
    std::unordered_set<std::string> names; // of a graph they differ
    for (const ModelSpec::LooseWeight& weight : design.model.looseWeights)
        if (!names.insert(weight.tensor.name).second)
            out.push_back({ inputError(weight.tensor.name, "two weights have this name, and an export tells them apart by it",
                                       "rename one of them"),
                            1 });
    for (const WeightLayout& weight : evaluation.weights) {
        if (stopped && stopped())
            return Cancelled {};
        if (auto error = weightRefusal(weight, design.mesh, limits))
            out.push_back({ std::move(*error), weight.copies });
    }
    return out;
}

} // namespace shardboard
