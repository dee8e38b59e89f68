// SPDX-License-Identifier: Apache-2.0
// The kernels' launches: the only part that a CUDA compiler has to compile.
#pragma once

#include "engine/cuda/runtime.h"

struct CUstream_st;

namespace shardboard::engine::cuda {

#define SHARDBOARD_CUDA_LAUNCH(Body) void launchOn(CUstream_st* stream, const Body& body, const Grid& grid);
SHARDBOARD_CUDA_BODIES(SHARDBOARD_CUDA_LAUNCH)
#undef SHARDBOARD_CUDA_LAUNCH

/// Holds the stream until the host writes `value` there, or until it has waited for so many cycles.
void launchGate(CUstream_st* stream, const volatile unsigned* flag, unsigned value, long long mostCycles);
/// Whether this build has machine code for the current device: asks for the attributes of a kernel.
const char* kernelError();

} // namespace shardboard::engine::cuda
