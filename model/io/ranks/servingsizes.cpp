// SPDX-License-Identifier: Apache-2.0
#include "model/io/ranks/servingsizes.h"

#include "model/io/exports/leftout.h"

#include <algorithm>

namespace shardboard {

ServingSizes servingSizes(const Design& design, const Evaluation& evaluation)
{
    const Mesh& mesh = design.mesh;
    ServingSizes sizes { .use = axisUse(design, evaluation) };
    sizes.tensor = mesh.groupSize(sizes.use.tensor);
    sizes.stages = mesh.groupSize(sizes.use.stage);
    sizes.data = mesh.groupSize(sizes.use.data);
    if (design.model.moe.present()) {
        sizes.expert = mesh.groupSize(sizes.use.expert);
        sizes.expertTensor = mesh.groupSize(sizes.use.expertTensor);
        sizes.jointExperts = std::ranges::any_of(
            sizes.use.expert, [&](int axis) { return std::ranges::find(sizes.use.data, axis) != sizes.use.data.end(); });
    }
    for (const StageRun& run : stageRuns(design, evaluation))
        sizes.layers.push_back(run.layers);
    return sizes;
}

std::vector<ExportRefusal> servingRefusals(const Design& design, const ServingSizes& sizes, const std::string& framework,
                                           const std::vector<std::vector<int>>& slowestFirst)
{
    const Mesh& mesh = design.mesh;
    const AxisUse& use = sizes.use;
    const auto refused = [](std::string where, std::string what, std::string fix) {
        return std::vector<ExportRefusal> { { inputError(std::move(where), std::move(what), std::move(fix)) } };
    };
    if (design.workload.kind == WorkloadKind::Train)
        return refused("workload", framework + " serves models, and this design trains one",
                       "export a design for prefill or decode");
    if (!use.sharded.empty())
        return refused("mesh",
                       "mesh axis '" + axisNames(mesh, use.sharded)
                           + "' cuts weights and the batch, so that weights are gathered before use, and " + framework
                           + " computes with the weights that a rank holds",
                       "cut the weights over a tensor axis alone");
    if (!use.context.empty())
        return refused("mesh", framework + " does not cut the prompt, as mesh axis '" + axisNames(mesh, use.context) + "' does",
                       "use a tensor or data axis in its place");
    if (design.pipeline.present() && static_cast<std::int64_t>(sizes.layers.size()) != sizes.stages)
        return refused("pipeline",
                       framework + " has one run of layers on each stage, and this design has "
                           + std::to_string(sizes.layers.size()) + " runs on " + std::to_string(sizes.stages) + " stages",
                       "use one chunk, and no more stages than layers");
    if (auto order = orderRefusal(mesh, framework, slowestFirst))
        return { std::move(*order) };
    return {};
}

std::vector<std::string> servingLeftOut(const Design& design, const Evaluation& evaluation, const std::string& framework)
{
    std::vector<std::string> out = leftOutOf(design, framework);
    out.push_back("batch " + std::to_string(design.workload.batch) + " and sequence " + std::to_string(design.workload.sequence)
                  + ": " + framework + " batches requests as they come");
    if (design.workload.dtype != design.model.dtype)
        out.push_back("weights and values in " + dtypeName(design.workload.dtype) + ": " + framework
                      + " takes the type of the checkpoint (" + dtypeName(design.model.dtype) + ") unless its options say another");
    addWholeBatch(out, design, evaluation, framework);
    return out;
}

std::vector<std::string> devicesOfCopies(std::int64_t copySize, std::int64_t copies)
{
    std::vector<std::string> out;
    for (std::int64_t copy = 0; copy < copies; ++copy) {
        std::string ids;
        for (std::int64_t i = 0; i < copySize; ++i)
            ids += (i > 0 ? "," : "") + std::to_string(copy * copySize + i);
        out.push_back(std::move(ids));
    }
    return out;
}

} // namespace shardboard
