// SPDX-License-Identifier: Apache-2.0
#include "model/io/huggingface/modelparts.h"

#include "model/io/huggingface/familyfile.h"
#include "model/io/json/jsonmembers.h"

namespace shardboard {

static auto jsonWords(NormKind) { return JsonWords { normKindName, normKindFromName, "rmsnorm or layernorm" }; }
static auto jsonWords(RouterScore) { return JsonWords { routerScoreName, routerScoreFromName, "softmax or sigmoid" }; }
static auto jsonWords(RecurrentKind)
{
    return JsonWords { recurrentKindName, recurrentKindFromName,
                       "none, delta-rule, state-space, selective, convolution or lightning" };
}
static auto jsonWords(ExpertStorage)
{
    return JsonWords { expertStorageName, expertStorageFromName,
                       "separate, mixtral, packed, joined, joined-transposed, stacked or flat" };
}

template <class Each, MembersOf<PackedWeights> Packed>
void jsonMembers(Each& each, Packed& packed)
{
    constexpr std::int64_t kLargest = std::int64_t { 1 } << 31;
    each.value("match", packed.match);
    each.usual("format", packed.format);
    each.usual("bits", packed.packing.bits, { 0, 64 });
    each.usual("out_block", packed.packing.outBlock, { 0, kLargest });
    each.usual("in_block", packed.packing.inBlock, { 0, kLargest });
    each.usual("block_bits", packed.packing.blockBits, { 0, 1e6 });
}

namespace {

/// Counts and factors are not negative.
template <class Each>
struct Parts {
    Each each;

    template <class T>
    void value(const char* key, T& member, std::int64_t least = 0)
    {
        if constexpr (std::is_same_v<std::remove_const_t<T>, std::int64_t>)
            each.usual(key, member, { least, std::int64_t { 1 } << 62 });
        else if constexpr (std::is_same_v<std::remove_const_t<T>, double>)
            each.usual(key, member, { 0, 1e18 });
        else
            each.usual(key, member);
        static_cast<void>(least); // of counts alone
    }
};

/// The one list of keys, for both directions.
template <class Visitor, class Model>
void visit(Visitor&& each, Model& model)
{
    each.value("attention_sinks", model.attentionSinks);
    each.value("sliding_window", model.slidingWindow);
    each.value("full_attention_every", model.windowPeriod, -1);
    each.value("rotary_dim", model.rotaryDim);
    each.value("num_nextn_predict_layers", model.furtherLayers);
    each.value("wide_qk_norm", model.wideQkNorm);
    each.value("head_norms", model.headNorms);
    each.value("qk_norm_bias", model.qkNormBias);
    each.value("head_bias", model.headBias);
    each.value("embedding_rows", model.tableRows);

    each.value("norm_type", model.norm.kind);
    each.value("norms_per_layer", model.norm.perLayer);
    each.value("norm_weight_offset", model.norm.weightOffset);
    each.value("norms_after", model.norm.after);
    each.value("norm_bias", model.norm.bias);
    each.value("norm_weights", model.norm.weighted);
    each.value("norms_of_sums", model.norm.ofSum);
    each.value("last_norm", model.norm.last);
    each.value("first_norm", model.norm.first);
    each.value("norms_around", model.norm.around);
    each.value("embedding_norm", model.embeddingNorm);
    each.value("head_transform", model.headTransform);
    each.value("positions", model.positions);
    each.value("first_position", model.firstPosition);
    each.value("token_types", model.tokenTypes);
    each.value("alibi", model.alibi);

    auto& moe = model.moe;
    each.value("num_experts", moe.experts);
    each.value("num_experts_per_tok", moe.chosen);
    each.value("moe_intermediate_size", moe.intermediateSize);
    each.value("n_shared_experts", moe.sharedExperts);
    each.value("shared_expert_intermediate_size", moe.sharedWidth);
    each.value("shared_expert_gate", moe.sharedGate);
    each.value("first_k_dense_replace", moe.firstDense);
    each.value("moe_layer_freq", moe.every, 1);
    each.value("scoring_func", moe.score);
    each.value("norm_topk_prob", moe.normalizedGates);
    each.value("routed_scaling_factor", moe.gateScale);
    each.value("n_group", moe.groups);
    each.value("topk_group", moe.chosenGroups);
    each.value("router_bias", moe.routerBias);
    each.value("correction_bias", moe.correctionBias);
    each.value("expert_bias", moe.expertBias);
    each.value("expert_storage", moe.storage);
    each.value("experts_beside_mlp", moe.besideMlp);
    each.value("moe_latent_size", moe.latentSize);

    auto& mla = model.mla;
    each.value("q_lora_rank", mla.queryRank);
    each.value("kv_lora_rank", mla.latentRank);
    each.value("qk_nope_head_dim", mla.nopeHeadDim);
    each.value("qk_rope_head_dim", mla.ropeHeadDim);
    each.value("v_head_dim", mla.valueHeadDim);

    each.value("parallel_block", model.block.parallel);
    each.value("fused_qkv", model.block.fusedQkv);
    each.value("gated_mlp", model.block.gatedMlp);
    each.value("joined_qkv", model.block.joinedQkv);
    each.value("joined_gate_up", model.block.joinedGateUp);
    each.value("parts_apart", model.block.partsApart);
    each.value("transposed_weights", model.block.transposed);
    each.value("attention_gate", model.block.attentionGate);
    each.value("gate_apart", model.block.gateApart);
    each.value("gate_by_head", model.block.gateByHead);
    each.value("keys_are_values", model.block.keysAreValues);
    each.value("value_norm", model.block.valueNorm);
    each.value("key_bias", model.block.keyBias);
    each.value("inner_norms", model.block.innerNorms);
    each.value("value_head_dim", model.valueDim);
    each.value("both_ways", model.block.bothWays);
    each.value("layer_pattern", model.block.pattern);

    auto& recurrent = model.recurrent;
    each.value("recurrent", recurrent.kind);
    each.value("recurrent_heads", recurrent.heads);
    each.value("recurrent_key_heads", recurrent.keyHeads);
    each.value("recurrent_key_dim", recurrent.keyDim);
    each.value("recurrent_value_dim", recurrent.valueDim);
    each.value("recurrent_taps", recurrent.taps, 1);
    each.value("recurrent_convolution_bias", recurrent.convolutionBias);
    each.value("recurrent_bias", recurrent.bias);
    each.value("recurrent_grouped", recurrent.grouped);
    each.value("recurrent_norm_groups", recurrent.normGroups);
    each.value("recurrent_norm_first", recurrent.normFirst);
    each.value("recurrent_key_decay", recurrent.keyDecay);
    each.value("recurrent_gate_rank", recurrent.gateRank);
    each.value("recurrent_step_rank", recurrent.stepRank);
    each.value("recurrent_part_norms", recurrent.partNorms);

    auto& other = model.other;
    each.value("other_heads", other.heads);
    each.value("other_kv_heads", other.kvHeads);
    each.value("other_head_dim", other.headDim);
    each.value("other_value_head_dim", other.valueDim);
    each.value("other_rotary_dim", other.rotaryDim);
    each.value("other_rope_theta", other.ropeTheta);
    each.value("other_window", other.window);
    each.value("other_sinks", other.sinks);
    each.value("other_unrotated", other.unrotated);
    each.value("other_keys_are_values", other.keysAreValues);

    each.value("encoder_layers", model.encoder.layers);
    each.value("encoder_attention_heads", model.encoder.heads);
    each.value("encoder_intermediate_size", model.encoder.intermediateSize);
    each.value("encoder_positions", model.encoder.positions);
    each.value("layer_input_size", model.layerInput.width);
    each.value("layer_input_rows", model.layerInput.rows);
    each.value("beside_rank", model.besideRank);
    each.value("shared_keys_intermediate_size", model.sharedKeysSize);

    each.value("packed", model.packed);

    each.value("index_n_heads", model.indexer.heads);
    each.value("index_head_dim", model.indexer.headDim);
    each.value("index_topk", model.indexer.chosen);

    each.value("embedding_scale", model.scaling.embedding);
    each.value("query_pre_attn_scalar", model.scaling.queryScalar);
    each.value("attention_soft_cap", model.scaling.attentionSoftCap);
    each.value("logit_soft_cap", model.scaling.logitSoftCap);
    each.value("residual_multiplier", model.scaling.residual);
    each.value("around_multiplier", model.scaling.around);
    each.value("logit_scale", model.scaling.logits);
    each.value("swiglu_limit", model.scaling.swigluLimit);
}

nlohmann::json allParts(const ModelSpec& model)
{
    nlohmann::json out = nlohmann::json::object();
    visit(Parts<JsonMembersWriter> { JsonMembersWriter(out) }, model);
    return out;
}

} // namespace

void addModelParts(nlohmann::json& out, const ModelSpec& model)
{
    static const nlohmann::json plain = allParts({});
    const nlohmann::json parts = allParts(model);
    for (const auto& [key, value] : parts.items())
        if (plain[key] != value)
            out[key] = value;
    if (!model.names.empty())
        out["names"] = model.names;
}

const std::set<std::string>& modelPartKeys()
{
    static const std::set<std::string> keys = [] {
        std::set<std::string> out;
        const nlohmann::json all = allParts({});
        for (const auto& [key, value] : all.items())
            out.insert(key);
        return out;
    }();
    return keys;
}

void readModelParts(JsonFields& fields, ModelSpec& model)
{
    visit(Parts<JsonMembersReader> { JsonMembersReader(fields) }, model);
    if (const nlohmann::json* names = fields.find("names"); names != nullptr) {
        if (!names->is_object()) {
            fields.fail("names", "is not an object", "write {...}");
            return;
        }
        for (const auto& [part, name] : names->items()) {
            if (!name.is_string()) {
                fields.fail("names", "holds what is not a text", "use names in quotes");
                return;
            }
            model.names[part] = name.get<std::string>();
        }
    } else if (fields.flag("falcon_names", false)) { // as designs were written when Falcon's were the only other names
        if (const FamilyFile* falcon = familyOf("falcon"); falcon != nullptr)
            model.names = falcon->names;
    }
}

} // namespace shardboard
