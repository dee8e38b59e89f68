// SPDX-License-Identifier: Apache-2.0
#include "model/io/design/modelparts.h"

namespace shardboard {

namespace {

/// The one list of keys, for both directions.
template <class Visitor, class Model>
void visit(Visitor&& each, Model& model)
{
    each.value("attention_sinks", model.attentionSinks);
    each.value("sliding_window", model.slidingWindow);

    each.word("norm_type", model.norm.kind, normKindName, normKindFromName, "rmsnorm or layernorm");
    each.value("norms_per_layer", model.norm.perLayer);
    each.value("norm_weight_offset", model.norm.weightOffset);

    auto& moe = model.moe;
    each.value("num_experts", moe.experts);
    each.value("num_experts_per_tok", moe.chosen);
    each.value("moe_intermediate_size", moe.intermediateSize);
    each.value("n_shared_experts", moe.sharedExperts);
    each.value("first_k_dense_replace", moe.firstDense);
    each.word("scoring_func", moe.score, routerScoreName, routerScoreFromName, "softmax or sigmoid");
    each.value("norm_topk_prob", moe.normalizedGates);
    each.value("routed_scaling_factor", moe.gateScale);
    each.value("n_group", moe.groups);
    each.value("topk_group", moe.chosenGroups);
    each.value("router_bias", moe.routerBias);
    each.value("correction_bias", moe.correctionBias);
    each.value("expert_bias", moe.expertBias);
    each.word("expert_storage", moe.storage, expertStorageName, expertStorageFromName, "separate, mixtral or packed");

    auto& mla = model.mla;
    each.value("q_lora_rank", mla.queryRank);
    each.value("kv_lora_rank", mla.latentRank);
    each.value("qk_nope_head_dim", mla.nopeHeadDim);
    each.value("qk_rope_head_dim", mla.ropeHeadDim);
    each.value("v_head_dim", mla.valueHeadDim);

    each.value("parallel_block", model.block.parallel);
    each.value("fused_qkv", model.block.fusedQkv);
    each.value("gated_mlp", model.block.gatedMlp);
    each.value("falcon_names", model.block.falconNames);

    each.value("embedding_scale", model.scaling.embedding);
    each.value("query_pre_attn_scalar", model.scaling.queryScalar);
    each.value("attention_soft_cap", model.scaling.attentionSoftCap);
    each.value("logit_soft_cap", model.scaling.logitSoftCap);
    each.value("swiglu_limit", model.scaling.swigluLimit);
}

struct Writer {
    nlohmann::json out = nlohmann::json::object();

    template <class T>
    void value(const char* key, const T& member)
    {
        out[key] = member;
    }
    template <class T, class Name, class FromName>
    void word(const char* key, const T& member, Name name, FromName /*fromName*/, const char* /*known*/)
    {
        out[key] = name(member);
    }
};

struct Reader {
    JsonFields& fields;

    void value(const char* key, bool& member) { member = fields.flag(key, member); }
    void value(const char* key, std::int64_t& member) { member = fields.integer(key, 0, std::int64_t { 1 } << 62, member); }
    void value(const char* key, double& member) { member = fields.number(key, 0, 1e18, member); }
    template <class T, class Name, class FromName>
    void word(const char* key, T& member, Name name, FromName fromName, const char* known)
    {
        const std::string text = fields.text(key, name(member));
        if (const auto found = fromName(text))
            member = *found;
        else
            fields.fail(key, "cannot be '" + text + "'", std::string("use ") + known);
    }
};

} // namespace

void addModelParts(nlohmann::json& out, const ModelSpec& model)
{
    Writer of;
    Writer plain;
    visit(of, model);
    visit(plain, static_cast<const ModelSpec&>(ModelSpec {}));
    for (const auto& [key, value] : of.out.items())
        if (plain.out[key] != value)
            out[key] = value;
}

void readModelParts(JsonFields& fields, ModelSpec& model) { visit(Reader { fields }, model); }

} // namespace shardboard
