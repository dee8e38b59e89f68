// SPDX-License-Identifier: Apache-2.0
#include "model/io/ranks/modelconfig.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace shardboard {

namespace {

void addExperts(nlohmann::ordered_json& config, const ModelSpec& model)
{
    const MoeSpec& moe = model.moe;
    config["num_experts_per_tok"] = moe.chosen;
    switch (moe.storage) {
    case ExpertStorage::Mixtral:
    case ExpertStorage::Packed:
    case ExpertStorage::Joined:
    case ExpertStorage::JoinedT:
    case ExpertStorage::Stacked:
    case ExpertStorage::Flat:
        config["num_local_experts"] = moe.experts;
        config["intermediate_size"] = moe.intermediateSize;
        break;
    case ExpertStorage::Separate:
        config["moe_intermediate_size"] = moe.intermediateSize;
        if (!model.mla.present()) {
            config["num_experts"] = moe.experts;
            config["norm_topk_prob"] = moe.normalizedGates;
            break;
        }
        config["n_routed_experts"] = moe.experts;
        config["n_shared_experts"] = moe.sharedExperts;
        config["first_k_dense_replace"] = moe.firstDense;
        config["n_group"] = moe.groups;
        config["topk_group"] = moe.chosenGroups;
        config["norm_topk_prob"] = moe.normalizedGates;
        config["routed_scaling_factor"] = moe.gateScale;
        config["moe_layer_freq"] = 1;
        config["scoring_func"] = routerScoreName(moe.score);
        config["topk_method"] = moe.correctionBias ? "noaux_tc" : moe.groups > 1 ? "group_limited_greedy" : "greedy";
        break;
    }
}

void addLatentAttention(nlohmann::ordered_json& config, const MlaSpec& mla)
{
    config["q_lora_rank"] = mla.queryRank > 0 ? nlohmann::ordered_json(mla.queryRank) : nlohmann::ordered_json(nullptr);
    config["kv_lora_rank"] = mla.latentRank;
    config["qk_nope_head_dim"] = mla.nopeHeadDim;
    config["qk_rope_head_dim"] = mla.ropeHeadDim;
    config["v_head_dim"] = mla.valueHeadDim;
}

/// Model types whose configuration is written here in full, as their models in transformers, vLLM, SGLang and Megatron were asked.
constexpr std::array kKnownFamilies { "deepseek_v2", "deepseek_v3", "gemma",   "gemma2", "gemma3_text", "gpt_oss",  "kimi_k2",
                                      "llama",       "mistral",     "mixtral", "qwen2",  "qwen3",       "qwen3_moe" };

} // namespace

bool modelConfigSaysAll(const ModelSpec& model)
{
    const bool isKnown = std::ranges::find(kKnownFamilies, std::string_view(model.family)) != kKnownFamilies.end();
    const bool plainAttention = !model.wideQkNorm && model.rotaryDim == 0 && !model.block.fusedQkv && !model.block.joinedQkv;
    const bool plainMlp = !model.block.joinedGateUp && model.moe.every == 1 && model.moe.sharedWidth == 0
        && model.moe.storage != ExpertStorage::Joined && model.moe.storage != ExpertStorage::JoinedT
        && model.moe.storage != ExpertStorage::Stacked && model.moe.storage != ExpertStorage::Flat;
    const bool plainBlock =
        !model.norm.after && model.norm.bias && !model.headBias && model.scaling.residual == 1 && model.scaling.logits == 1;
    return isKnown && model.names.empty() && plainAttention && plainMlp && plainBlock;
}

nlohmann::ordered_json modelConfig(const ModelSpec& model)
{
    auto config = nlohmann::ordered_json::object();
    if (!model.hasGraph() || model.kind != ModelKind::Decoder)
        return config;
    config["model_type"] = model.family;
    config["vocab_size"] = model.vocabSize;
    config["hidden_size"] = model.hiddenSize;
    config["intermediate_size"] = model.intermediateSize;
    config["num_hidden_layers"] = model.layers;
    config["num_attention_heads"] = model.heads;
    config["num_key_value_heads"] = model.kvHeads;
    if (model.mla.present())
        addLatentAttention(config, model.mla);
    else
        config["head_dim"] = model.headDim;
    config["tie_word_embeddings"] = model.tiedEmbeddings;
    config["attention_bias"] = model.attentionBias == AttentionBias::Qkvo;
    config["mlp_bias"] = model.mlpBias;
    config["max_position_embeddings"] = 131072;
    if (model.moe.present())
        addExperts(config, model);
    return config;
}

} // namespace shardboard
