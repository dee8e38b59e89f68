// SPDX-License-Identifier: Apache-2.0
// How far published steps and memories lie from what is predicted of them; written by tests/bench/residuals.py.
#pragma once

#include "model/plan/time/residuals.h"

namespace shardboard {

inline constexpr Residual kStepResiduals[] {
    { ResidualKind::GpuDense, 0.782, 1.002, 24, "megatron-bridge-2511, megatron-table5, titan-h100-2412" },
    { ResidualKind::GpuExperts, 0.304, 0.823, 7, "megatron-bridge-2511" },
    { ResidualKind::Gpu, 0.621, 1.000, 31, "megatron-bridge-2511, megatron-table5, titan-h100-2412" },
    { ResidualKind::Tpu, 0.972, 1.191, 20, "maxtext-v5e, maxtext-v5p" },
};

inline constexpr Residual kMemoryResiduals[] {
    { ResidualKind::GpuDense, 0.924, 1.022, 9, "titan-h100-2412" },
    { ResidualKind::Gpu, 0.924, 1.022, 9, "titan-h100-2412" },
};

} // namespace shardboard
