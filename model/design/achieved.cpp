// SPDX-License-Identifier: Apache-2.0
#include "model/design/achieved.h"

#include "model/cost/closedforms/modelflops.h"
#include "model/families/modelsize.h"
#include "model/families/window.h"

namespace shardboard {

namespace {

/// Heads times head dim; where values are of another width than keys, the mean of both.
double attentionWidth(const ModelSpec& model)
{
    return static_cast<double>(model.heads) * static_cast<double>(model.headDim + model.valueHeadDim()) / 2;
}

double flopsPerToken(const Design& design)
{
    const auto size = modelSize(design.model);
    if (!size)
        return 0;
    const bool decoder = design.model.kind == ModelKind::Decoder;
    const double seen = !decoder                       ? 1
        : design.workload.kind == WorkloadKind::Decode ? cachedShare(design.model, design.workload.sequence)
                                                       : attendedShare(design.model, design.workload.sequence);
    const double training =
        trainingFlopsPerToken(static_cast<double>(size->active), decoder ? static_cast<double>(design.model.layers) : 0,
                              decoder ? attentionWidth(design.model) : 0, seen * static_cast<double>(design.workload.sequence));
    return design.workload.kind == WorkloadKind::Train ? training : training / 3;
}

double recomputingOf(const Graph& graph, const Plan& plan)
{
    double all = 0;
    double again = 0;
    for (const PlannedSegment& segment : plan.segments)
        for (const PlannedOp& op : segment.ops) {
            const double flops = static_cast<double>(op.count) * op.work.flops;
            all += flops;
            if (graph.entry(graph.op(op.op).result).again != kNoTensor)
                again += flops;
        }
    return all > again ? all / (all - again) : 1;
}

} // namespace

Performance performanceOf(const Design& design, const Graph& graph, const Plan& plan, const Hardware& hardware)
{
    Performance out;
    const bool decode = design.workload.kind == WorkloadKind::Decode;
    out.tokens = static_cast<double>(design.workload.batch) * (decode ? 1 : static_cast<double>(design.workload.sequence));
    out.modelFlops = out.tokens * flopsPerToken(design);
    if (design.workload.lastLogits()
        && design.model.kind == ModelKind::Decoder) // the table of logits works for one token a sequence
        out.modelFlops -= (out.tokens - static_cast<double>(design.workload.batch))
            * linearFlopsPerToken(static_cast<double>(design.model.vocabSize) * static_cast<double>(design.model.hiddenSize));
    out.recomputing = recomputingOf(graph, plan);
    out.rate(plan.seconds(), static_cast<double>(plan.mesh.deviceCount()), hardware.peakFlops(design.workload.dtype));
    return out;
}

} // namespace shardboard
