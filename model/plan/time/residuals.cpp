// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/residuals.h"

#include "model/plan/time/residualtable.h"
#include "model/text/contains.h"

#include <algorithm>
#include <span>

namespace shardboard {

namespace {

bool hasExperts(const Graph& graph)
{
    return std::ranges::any_of(graph.tensors, [](const GraphTensor& it) { return contains(it.spec.dimLabels, "experts"); });
}

std::string kindText(ResidualKind kind)
{
    switch (kind) {
    case ResidualKind::GpuDense:
        return "GPUs, dense models";
    case ResidualKind::GpuExperts:
        return "GPUs, mixtures of experts";
    case ResidualKind::Tpu:
        return "TPUs";
    case ResidualKind::Gpu:
        break;
    }
    return "GPUs";
}

const Residual* residualOf(std::span<const Residual> table, const Graph& graph, const Plan& plan, const Hardware& hardware)
{
    const bool trains = std::ranges::any_of(plan.segments, [](const PlannedSegment& it) { return it.phase == Phase::Update; });
    if (!trains || (hardware.device.kind != DeviceKind::Gpu && hardware.device.kind != DeviceKind::Tpu))
        return nullptr;
    const auto of = [&](ResidualKind kind) {
        const auto found = std::ranges::find(table, kind, &Residual::kind);
        return found == table.end() ? nullptr : &*found;
    };
    if (hardware.device.kind == DeviceKind::Tpu)
        return of(ResidualKind::Tpu);
    const Residual* own = of(hasExperts(graph) ? ResidualKind::GpuExperts : ResidualKind::GpuDense);
    return own != nullptr ? own : of(ResidualKind::Gpu);
}

std::optional<PredictedRange> rangeOf(const Residual* residual, double predicted, const char* what)
{
    if (residual == nullptr)
        return std::nullopt;
    return PredictedRange { predicted / residual->most, predicted / residual->least,
                            std::to_string(residual->rows) + " published " + what + ": " + kindText(residual->kind) + " ("
                                + std::string(residual->groups) + ")" };
}

} // namespace

std::optional<PredictedRange> stepRange(const Graph& graph, const Plan& plan, const Hardware& hardware)
{
    return rangeOf(residualOf(kStepResiduals, graph, plan, hardware), plan.seconds(), "steps");
}

std::optional<PredictedRange> memoryRange(const Graph& graph, const Plan& plan, const Hardware& hardware)
{
    auto range =
        rangeOf(residualOf(kMemoryResiduals, graph, plan, hardware), static_cast<double>(plan.memory.peak), "peaks of memory");
    if (range && plan.memory.most > 0) { // what depends on the allocator is as likely, so that this says what the verdict says
        range->least = std::min(range->least, static_cast<double>(plan.memory.least));
        range->most = std::max(range->most, static_cast<double>(plan.memory.most));
    }
    return range;
}

} // namespace shardboard
