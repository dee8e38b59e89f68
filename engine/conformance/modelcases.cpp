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
        { "llama, pipeline of all parts", "stage=2,fsdp=2,context=2,model=3", "pp+cp-all-gather+tp-sp+fsdp-cp", "llama", train, 4,
          12, 2 },
        { "llama, sequence beside ring", "fsdp=2,context=2,model=3", "cp-ring+tp-sp+fsdp-cp", "llama", train, 4, 12 },
        { "llama, replicas of shards in stages", "stage=2,data=2,fsdp=2,model=3", "pp+tp+hsdp", "llama", train, 8, 6, 2 },
        { "mixtral, experts sharded", "fsdp=2,expert=2", "ep+fsdp", "mixtral", train, 4, 6 },
        { "mixtral, experts on tensor devices", "expert=3,model=2", "ep+tp-sp+fsdp", "qwen3_moe", train, 6, 4 },
        { "mixtral, experts cut", "fsdp=2,expert=2,model=3", "ep+etp+tp-sp+fsdp", "mixtral", train, 4, 6 },
        { "deepseek v3, experts in stages", "stage=2,expert=2,model=2", "pp+ep+tp-sp", "deepseek_v3", train, 4, 6, 2 },
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
