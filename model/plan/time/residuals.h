// SPDX-License-Identifier: Apache-2.0
// Error bars: between what and what a predicted time or memory was measured, for runs of its kind that were published
// (residualtable.h). Nothing is fitted to them.
#pragma once

#include "model/hardware/hardware.h"
#include "model/plan/plan.h"

#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

/// Of training; the last two take the place of a kind with few rows.
enum class ResidualKind { GpuDense, GpuExperts, Gpu, Tpu };

struct Residual {
    ResidualKind kind = ResidualKind::Gpu;
    double least = 1; ///< predicted / measured
    double most = 1;
    int rows = 0; ///< that were published
    std::string_view groups; ///< of them
};

struct PredictedRange {
    double least = 0; ///< seconds or bytes
    double most = 0;
    std::string from; ///< `24 published steps: GPUs, dense models (megatron-table5, …)`
};

/// Nothing where no run of the kind was published: other workloads than training, CPUs, other accelerators.
std::optional<PredictedRange> stepRange(const Graph& graph, const Plan& plan, const Hardware& hardware);
/// With what the allocator may hold, as the verdict has it (MemoryByCause::least and most).
std::optional<PredictedRange> memoryRange(const Graph& graph, const Plan& plan, const Hardware& hardware);

} // namespace shardboard
