// SPDX-License-Identifier: Apache-2.0
// Reshard steps on the memory of several GPUs of this process, one rank each: what a run over several GPUs does between its
// operations. The GPUs are runtimes of the CUDA backend, or its stand-ins on the CPU; NCCL is the library, or a recorder.
#pragma once

#include "engine/cuda/runtime.h"
#include "engine/nccl/process.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard::engine::nccl {

/// What `Functions::local` does on a GPU: one exchange kernel.
std::string copyOn(cuda::Runtime& gpu, const Call& call, const void* from, void* to, Element element);

class Ranks {
public:
    /// All must outlive it. A rank for each GPU.
    Ranks(const std::vector<cuda::Runtime*>& gpus, Process& process);

    struct Held {
        std::vector<std::byte*> shards; ///< by rank, on its GPU
    };
    /// The shards of a tensor in memory of this process, uploaded; and memory for those of one, filled with NaN.
    Held upload(const Sharded& tensor);
    Held room(const Sharded& tensor);
    void download(const Held& held, Sharded& tensor);
    void release(Held& held);

    void reshard(const ReshardStep& step, const Sharded& before, const Held& from, const Sharded& after, const Held& to,
                 const std::string& where);

private:
    std::vector<cuda::Runtime*> m_gpus;
    Process& m_process;
};

} // namespace shardboard::engine::nccl
