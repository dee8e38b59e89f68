// SPDX-License-Identifier: Apache-2.0
// How far published steps and memories lie from what is predicted of them; written by tests/bench/residuals.py.
#pragma once

#include "model/plan/time/residuals.h"

namespace shardboard {

inline constexpr Residual kStepResiduals[] {
    { ResidualKind::GpuDense, 0.847, 1.060, 24, "megatron-bridge-2511, megatron-table5, titan-h100-2412" },
    { ResidualKind::GpuExperts, 0.423, 1.146, 9, "megatron-bridge-2511, megatron-bridge-2607" },
    { ResidualKind::Gpu, 0.750, 1.060, 33, "megatron-bridge-2511, megatron-bridge-2607, megatron-table5, titan-h100-2412" },
    { ResidualKind::Tpu, 0.852, 1.047, 20, "maxtext-v5e, maxtext-v5p" },
};

inline constexpr Residual kMemoryResiduals[] {
    { ResidualKind::GpuDense, 0.959, 1.087, 9, "titan-h100-2412" },
    { ResidualKind::Gpu, 0.959, 1.087, 9, "titan-h100-2412" },
};

} // namespace shardboard
