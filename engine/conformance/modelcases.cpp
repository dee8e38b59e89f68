// SPDX-License-Identifier: Apache-2.0
#include "engine/conformance/modelcases.h"

#include "model/core/mesh.h"

#include <algorithm>

namespace shardboard::conformance {

std::vector<ModelCase> modelCases(std::int64_t devices)
{
    constexpr WorkloadKind train = WorkloadKind::Train;
    constexpr WorkloadKind decode = WorkloadKind::Decode;
    std::vector<ModelCase> all {
        { "llama", "data=2,model=3", "megatron-tp", "llama" },
        { "llama, sequence parallel", "data=2,model=3", "tp-sp", "llama" },
        { "llama, decoding", "data=2,model=3", "megatron-tp", "llama", decode },
        { "llama, training", "data=2,model=3", "megatron-tp", "llama", train, 4, 6, 2 },
        { "llama, training sharded", "fsdp=4", "fsdp", "llama", train },
        { "llama, training in both ways", "fsdp=2,model=2", "tp+fsdp", "llama", train },
        { "mixtral, experts", "data=2,expert=2", "ep", "mixtral" },
        { "mixtral, experts in training", "data=2,expert=2", "ep", "mixtral", train },
        { "deepseek v3, latent attention", "data=2,model=2", "megatron-tp", "deepseek_v3" },
        { "deepseek v3, decoding", "data=2,model=2", "megatron-tp", "deepseek_v3", decode },
        { "deepseek v3, training", "data=2,model=2", "megatron-tp", "deepseek_v3", train },
        { "gpt-oss, sinks and biases", "data=2,model=2", "megatron-tp", "gpt_oss" },
        { "gemma 2, caps", "model=2", "megatron-tp", "gemma2", train },
        { "falcon, parallel blocks", "model=3", "megatron-tp", "falcon", train },
        { "llama, ring attention", "cp=4", "cp-ring", "llama", WorkloadKind::Prefill, 2, 8 },
        { "llama, ring attention in training", "cp=2", "cp-ring", "llama", train, 2, 8 },
        { "llama, gathered keys", "cp=3", "cp-all-gather", "llama", train, 2, 9 },
        { "llama, heads for tokens", "cp=3", "cp-ulysses", "llama", WorkloadKind::Prefill, 2, 9 },
        { "llama, pipeline", "pipe=2,model=2", "pp-1f1b", "llama", train, 4, 6, 2 },
        { "llama on one", "model=1", "replicate", "llama", train },
        { "llama on two", "model=2", "megatron-tp", "llama", train },
        { "llama on eight", "data=2,fsdp=2,model=2", "tp+fsdp", "llama", train },
    };
    std::erase_if(all, [&](const ModelCase& one) {
        const auto mesh = Mesh::parse(one.mesh);
        return devices > 0 && (!mesh.ok() || mesh.value().deviceCount() != devices);
    });
    return all;
}

} // namespace shardboard::conformance
