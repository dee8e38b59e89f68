// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/backend.h"

#include "engine/cuda/cudaruntime.h"
#include "engine/nccl/functions.h"

namespace shardboard::engine {

Backend ncclBackend()
{
    Backend nccl;
    nccl.name = "nccl";
    nccl.claims = { DType::F32, DType::BF16, DType::F16 };
    nccl.unusable = cuda::whyNoGpu();
    if (nccl.usable())
        nccl.unusable = nccl::whyNoNccl();
    if (nccl.usable() && cuda::gpuCount() < 2)
        nccl.unusable = "it needs a GPU for every logical device and there is one GPU; use the backend cuda, which plays all devices on it";
    if (nccl.usable())
        nccl.unusable = "reshards over several GPUs are there (shardboard-engine --check-nccl), tested on a stand-in and never yet on GPUs; the operations of a run "
                        "between them are not there yet; use the backend cuda";
    return nccl;
}

} // namespace shardboard::engine
