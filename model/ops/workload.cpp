// SPDX-License-Identifier: Apache-2.0
#include "model/ops/workload.h"

#include <algorithm>
#include <array>

namespace shardboard {

std::string workloadName(WorkloadKind kind)
{
    return kind == WorkloadKind::Prefill ? "prefill" : kind == WorkloadKind::Decode ? "decode" : "train";
}

std::optional<WorkloadKind> workloadFromName(std::string_view name)
{
    for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode, WorkloadKind::Train })
        if (name == workloadName(kind))
            return kind;
    return std::nullopt;
}

std::string attentionKernelName(AttentionKernel kernel) { return kernel == AttentionKernel::Flash ? "flash" : "unfused"; }

std::optional<AttentionKernel> attentionKernelFromName(std::string_view name)
{
    for (const AttentionKernel kernel : { AttentionKernel::Flash, AttentionKernel::Unfused })
        if (name == attentionKernelName(kernel))
            return kernel;
    return std::nullopt;
}

std::string softwareName(Software software)
{
    return software == Software::Fused ? "fused" : software == Software::Compiled ? "compiled" : "eager";
}

std::optional<Software> softwareFromName(std::string_view name)
{
    for (const Software software : { Software::Fused, Software::Compiled, Software::Eager })
        if (name == softwareName(software))
            return software;
    return std::nullopt;
}

std::string dispatchName(Dispatch dispatch) { return dispatch == Dispatch::PerExpert ? "per-expert" : "per-node"; }

std::optional<Dispatch> dispatchFromName(std::string_view name)
{
    for (const Dispatch dispatch : { Dispatch::PerExpert, Dispatch::PerNode })
        if (name == dispatchName(dispatch))
            return dispatch;
    return std::nullopt;
}

std::string contextOrderName(ContextOrder order) { return order == ContextOrder::HeadTail ? "head-tail" : "in-order"; }

std::optional<ContextOrder> contextOrderFromName(std::string_view name)
{
    for (const ContextOrder order : { ContextOrder::HeadTail, ContextOrder::InOrder })
        if (name == contextOrderName(order))
            return order;
    return std::nullopt;
}

std::string logitsName(Logits logits) { return logits == Logits::All ? "all" : "last"; }

std::optional<Logits> logitsFromName(std::string_view name)
{
    for (const Logits logits : { Logits::All, Logits::Last })
        if (name == logitsName(logits))
            return logits;
    return std::nullopt;
}

const std::vector<DType>& computeTypes()
{
    static const std::vector<DType> types { DType::BF16, DType::F16, DType::F32, DType::F8E4M3 };
    return types;
}

DType storageType(const Workload& workload)
{
    return workload.dtype == DType::F8E4M3 && workload.kind == WorkloadKind::Train ? DType::BF16 : workload.dtype;
}

Workload effective(Workload workload)
{
    if (workload.kind != WorkloadKind::Train) {
        workload.microBatches = 1;
        workload.recompute = Recompute::None;
        workload.recomputeLayers = 0;
        workload.recomputeEvery = 1;
        workload.optimizer = {};
        workload.rule = Optimizer::Adam;
        workload.offload = {};
        workload.predicted = 0;
        workload.fp8 = {};
        for (const PrecisionMember& member : precisionMembers())
            if (member.training)
                (workload.precision.*(member.type)).reset();
    }
    if (workload.kind != WorkloadKind::Prefill) // which waits, too
        workload.logits = Logits::All;
    return workload;
}

Status verifyWorkload(const Workload& workload, const std::string& where)
{
    constexpr std::int64_t kLargest = std::int64_t { 1 } << 31;
    if (workload.batch < 1 || workload.batch > kLargest)
        return inputError(where, "batch " + std::to_string(workload.batch) + " cannot be used", "use 1 to 2^31");
    if (workload.sequence < 1 || workload.sequence > kLargest)
        return inputError(where, "sequence " + std::to_string(workload.sequence) + " cannot be used", "use 1 to 2^31");
    const std::int64_t microBatches = effective(workload).microBatches;
    if (microBatches < 1 || workload.batch % microBatches != 0)
        return inputError(where,
                          "batch " + std::to_string(workload.batch) + " cannot be cut into " + std::to_string(microBatches)
                              + " micro-batches",
                          "use a number that divides it");
    if (workload.recomputeEvery < 1)
        return inputError(where, "one layer in " + std::to_string(workload.recomputeEvery) + " cannot compute again",
                          "use 1 for all of them, 2 for every second one");
    if (workload.predicted < 0 || workload.predicted > kMostPredicted)
        return inputError(where, std::to_string(workload.predicted) + " further tokens cannot be predicted",
                          "use 0 to " + std::to_string(kMostPredicted));
    if (!(workload.capacityFactor == 0 || (workload.capacityFactor >= 0.01 && workload.capacityFactor <= 1000)))
        return inputError(where, "the capacity factor of experts cannot be used", "use 0.01 to 1000, or 0 for dropless");
    const std::vector<std::string>& axes = workload.optimizer.axes;
    for (auto it = axes.begin(); it != axes.end(); ++it)
        if (std::find(axes.begin(), it, *it) != it)
            return inputError(where, "optimizer states are cut over mesh axis '" + *it + "' twice", "name each axis once");
    const auto& types = computeTypes();
    if (std::find(types.begin(), types.end(), workload.dtype) == types.end())
        return inputError(where, "dtype " + dtypeName(workload.dtype) + " is not one a model is computed in",
                          "use bf16, f16, f32 or f8e4m3");
    return verifyPrecision(workload.precision, where);
}

} // namespace shardboard
