// SPDX-License-Identifier: Apache-2.0
#include "model/io/huggingface/hffamilies.h"

#include <set>

namespace shardboard {

namespace {

/// Qwen: every `decoder_sparse_step`-th layer has experts, but for those in `mlp_only_layers`.
void readSparseLayers(ConfigFields& config, ModelSpec& model)
{
    JsonFields& fields = config.json();
    const auto listed = fields.integers("mlp_only_layers", 0, ConfigFields::kLargest);
    const std::set<std::int64_t> dense(listed.begin(), listed.end());
    while (dense.contains(model.moe.firstDense))
        ++model.moe.firstDense;
    const bool onlyFirst = static_cast<std::int64_t>(dense.size()) == model.moe.firstDense;
    if (fields.integer("decoder_sparse_step", 1, ConfigFields::kLargest, 1) != 1 || !onlyFirst)
        model.notUnderstood = "layers with and without experts in turn are not understood yet";
}

void readDeepSeek(ConfigFields& config, ModelSpec& model)
{
    JsonFields& fields = config.json();
    MoeSpec& moe = model.moe;
    const bool v2 = model.family == "deepseek_v2";
    moe.experts = config.size("n_routed_experts", v2 ? 64 : model.family == "kimi_k2" ? 384 : 256);
    moe.chosen = config.size("num_experts_per_tok", v2 ? 6 : 8);
    moe.intermediateSize = config.size("moe_intermediate_size", v2 ? 1407 : 2048);
    moe.sharedExperts = fields.integer("n_shared_experts", 0, ConfigFields::kLargest, 0);
    moe.firstDense = fields.integer("first_k_dense_replace", 0, ConfigFields::kLargest, 0);
    moe.gateScale = fields.number("routed_scaling_factor", 0, 1e9, v2 ? 1.0 : 2.5);
    moe.normalizedGates = fields.flag("norm_topk_prob", !v2);
    moe.correctionBias = fields.text("topk_method", v2 ? "greedy" : "noaux_tc") == "noaux_tc";
    const std::string score = fields.text("scoring_func", v2 ? "softmax" : "sigmoid");
    if (const auto known = routerScoreFromName(score))
        moe.score = *known;
    else
        model.notUnderstood = "the router's scoring_func '" + score + "' is not understood yet";
    if (fields.text("topk_method", "") != "greedy") {
        moe.groups = fields.integer("n_group", 1, ConfigFields::kLargest, 1);
        moe.chosenGroups = fields.integer("topk_group", 1, ConfigFields::kLargest, 1);
    }
    if (fields.integer("moe_layer_freq", 1, ConfigFields::kLargest, 1) != 1)
        model.notUnderstood = "layers with and without experts in turn are not understood yet";
    if (const auto more = fields.integer("num_nextn_predict_layers", 0, 1000, 0); more > 0)
        config.note("not-in-graph", Severity::Note,
                    std::to_string(more) + (more == 1 ? " layer that predicts" : " layers that predict")
                        + " further tokens (num_nextn_predict_layers) is not counted; training has it with --mtp "
                        + std::to_string(more));
}

} // namespace

void readExperts(ConfigFields& config, const Family& family, ModelSpec& model)
{
    JsonFields& fields = config.json();
    MoeSpec& moe = model.moe;
    const std::string type = family.type;
    if (type == "mixtral") {
        moe.experts = config.size("num_local_experts", 8);
        moe.chosen = config.size("num_experts_per_tok", 2);
        moe.intermediateSize = model.intermediateSize;
        moe.normalizedGates = true;
        moe.storage = ExpertStorage::Mixtral;
    } else if (type == "qwen3_moe") {
        moe.experts = config.size("num_experts", 128, 0);
        if (!moe.present())
            return;
        moe.chosen = config.size("num_experts_per_tok", 8);
        moe.intermediateSize = config.size("moe_intermediate_size", 768);
        moe.normalizedGates = fields.flag("norm_topk_prob", false);
        readSparseLayers(config, model);
    } else if (type == "gpt_oss") {
        moe.experts = config.size("num_local_experts", 128);
        moe.chosen = config.size(fields.find("experts_per_token") ? "experts_per_token" : "num_experts_per_tok", 4);
        moe.intermediateSize = model.intermediateSize;
        moe.normalizedGates = true; // a softmax over the chosen ones is that over all, normalised
        moe.routerBias = moe.expertBias = true;
        moe.storage = ExpertStorage::Packed;
        model.attentionSinks = true;
        model.scaling.swigluLimit = fields.number("swiglu_limit", 0, 1e9, 7.0);
    } else if (type == "deepseek_v2" || type == "deepseek_v3" || type == "kimi_k2") {
        readDeepSeek(config, model);
    }
}

void readLatentAttention(ConfigFields& config, ModelSpec& model)
{
    JsonFields& fields = config.json();
    MlaSpec& mla = model.mla;
    mla.queryRank = fields.integer("q_lora_rank", 1, ConfigFields::kLargest, 0);
    if (!fields.holds("q_lora_rank") && !fields.error())
        mla.queryRank = 1536; // the default of the class; a null means none
    mla.latentRank = config.size("kv_lora_rank", 512);
    mla.nopeHeadDim = config.size("qk_nope_head_dim", 128);
    mla.ropeHeadDim = config.size("qk_rope_head_dim", 64);
    mla.valueHeadDim = config.size("v_head_dim", 128);
    model.headDim = mla.nopeHeadDim + mla.ropeHeadDim;
    model.kvHeads = model.heads;
    if (fields.flag("attention_bias", false))
        model.notUnderstood = "biases in latent attention are not understood yet";
}

} // namespace shardboard
