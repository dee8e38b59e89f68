// SPDX-License-Identifier: Apache-2.0
// A GPU as the runtime of the CUDA backend. Plain C++: whoever uses it needs none of CUDA's headers.
#pragma once

#include "engine/cuda/runtime.h"

#include <memory>
#include <string>

namespace shardboard::engine::cuda {

/// Empty, or what is missing for a run on a GPU: a driver, a device that kernels were built for, cuBLAS.
std::string whyNoGpu();

struct GpuFacts {
    std::string name;
    int multiprocessors = 0;
    std::int64_t memoryBytes = 0;
    std::string id; ///< that no other GPU has
};
int gpuCount();
/// Of one that is there.
GpuFacts gpuFacts(int device = 0);

/// What this thread asks libraries for is for that GPU from now on. Empty, or what went wrong.
std::string chooseGpu(int device);

/// One of gpuCount() GPUs. Throws Failure "backend" with the text of whyNoGpu().
std::unique_ptr<Runtime> makeCudaRuntime(int device = 0);

} // namespace shardboard::engine::cuda
