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

/// Parameters that a token meets: all that are active, but of routed experts only what their capacity takes.
double workedOn(const Design& design, const ModelSize& size)
{
    const auto active = static_cast<double>(size.active);
    const double capacity = design.workload.capacityFactor;
    const MoeSpec& moe = design.model.moe;
    if (capacity == 0 || capacity >= 1 || moe.experts <= moe.chosen)
        return active;
    const double expert = (static_cast<double>(size.total) - active) / static_cast<double>(moe.experts - moe.chosen);
    return active - (1 - capacity) * static_cast<double>(moe.chosen) * expert;
}

/// Modules that predict further tokens: each a layer more, a projection from twice the hidden size, and the logits once more
/// (Megatron-LM, num_floating_point_operations: mtp_num_layers).
double furtherFlopsPerToken(const Design& design, double parameters, double seen)
{
    const std::int64_t predicted = effective(design.workload).predicted;
    ModelSpec more = design.model;
    more.layers += predicted;
    const auto size = predicted > 0 ? modelSize(more) : std::nullopt;
    if (!size)
        return 0;
    const auto modules = static_cast<double>(predicted);
    const auto hidden = static_cast<double>(design.model.hiddenSize);
    const double beside = modules * hidden * (2 * hidden + static_cast<double>(design.model.vocabSize));
    return trainingFlopsPerToken(workedOn(design, *size) - parameters + beside, modules, attentionWidth(design.model),
                                 seen * static_cast<double>(design.workload.sequence));
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
        trainingFlopsPerToken(workedOn(design, *size), decoder ? static_cast<double>(design.model.layers) : 0,
                              decoder ? attentionWidth(design.model) : 0, seen * static_cast<double>(design.workload.sequence));
    if (design.workload.kind != WorkloadKind::Train)
        return training / 3;
    return training + (decoder ? furtherFlopsPerToken(design, workedOn(design, *size), seen) : 0);
}

double recomputingOf(const Graph& graph, const Plan& plan)
{
    double all = 0;
    double again = 0;
    for (const PlannedSegment& segment : plan.segments)
        for (const PlannedOp& op : segment.ops) {
            const double flops = static_cast<double>(op.count) * op.work.flops;
            all += flops;
            const Op& what = graph.op(op.op);
            if (graph.entry(what.result).again != kNoTensor || what.kind == OpKind::MuonStep)
                again += flops;
        }
    return all > again ? all / (all - again) : 1;
}

/// A capacity factor above 1 has experts work on rows without tokens.
double paddingOf(double capacityFactor, const Graph& graph, const Plan& plan)
{
    if (capacityFactor <= 1)
        return 1;
    double all = 0;
    double padded = 0;
    for (const PlannedSegment& segment : plan.segments)
        for (const PlannedOp& op : segment.ops) {
            const Op& what = graph.op(op.op);
            if (graph.entry(what.result).again != kNoTensor)
                continue;
            const double flops = static_cast<double>(op.count) * op.work.flops;
            all += flops;
            if (const auto& labels = graph.tensor(what.operands.front()).dimLabels; !labels.empty() && labels.front() == "experts")
                padded += flops * (1 - 1 / capacityFactor);
        }
    return all > padded ? all / (all - padded) : 1;
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
    out.padding = paddingOf(design.workload.capacityFactor, graph, plan);
    out.rate(plan.seconds(), static_cast<double>(plan.mesh.deviceCount()), hardware.peakFlops(design.workload.dtype));
    return out;
}

} // namespace shardboard
