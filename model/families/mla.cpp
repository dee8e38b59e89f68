// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention. A prompt makes keys and values of all heads from the latent vectors; decoding keeps only the
// latent vectors and one rotated key for each token, and lets the queries of each head take the expansion on themselves
// (they attend to the latent vectors, as if to one KV head), so that no key of the past is made again.
#include "model/families/graphbuilder.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

TensorId queries(GraphBuilder& builder, TensorId x, TensorId& latentQueries)
{
    const ModelSpec& model = builder.model();
    const MlaSpec& mla = model.mla;
    const GraphBuilder::Side heads { model.heads * model.headDim, "heads x head dim", "q_heads", model.headDim };
    TensorId q = kNoTensor;
    if (mla.queryRank > 0) {
        const GraphBuilder::Side rank { mla.queryRank, "query rank", "q_lora_up_proj" };
        q = builder.linear("self_attn.q_a_proj", x, rank, builder.hiddenSide(), false, "q latent");
        q = builder.rmsNorm("self_attn.q_a_layernorm", q, "query rank", "q latent normed");
        latentQueries = q;
        q = builder.linear("self_attn.q_b_proj", q, heads, { mla.queryRank, "query rank", "q_lora" }, false, "q");
    } else {
        q = builder.linear("self_attn.q_proj", x, heads, builder.hiddenSide(), false, "q");
    }
    return rotated(builder, "q", splitHeads(builder, "q", q, model.heads, "heads"), mla.nopeHeadDim, mla.ropeHeadDim);
}

/// The keys that each query is to read, chosen by small heads; their one key a token is cached as well.
TensorId chosenKeys(GraphBuilder& builder, TensorId x, TensorId latentQueries)
{
    const ModelSpec& model = builder.model();
    const IndexerSpec& indexer = model.indexer;
    if (!indexer.present())
        return kNoTensor;
    const std::string name = "self_attn.indexer.";
    const std::int64_t d = indexer.headDim;
    const auto split = [&](const std::string& what, TensorId of, std::int64_t count) {
        OpAttributes attributes;
        attributes.heads = count;
        return builder.op(name + what + "_heads", OpKind::SplitHeads, { of },
                          { "index " + what + " heads", { "index heads", "head dim" } }, attributes);
    };
    const auto turned = [&](const std::string& what, TensorId of) {
        OpAttributes rope;
        rope.ropeTheta = model.ropeTheta;
        rope.position = builder.position();
        rope.count = model.mla.ropeHeadDim;
        return builder.op(name + what + "_rope", OpKind::Rope, { of }, { "index " + what + " rotated" }, rope);
    };
    const TensorId q = builder.linear(name + "wq_b", latentQueries, { indexer.heads * d, "index heads x head dim", "", d },
                                      { model.mla.queryRank, "query rank", "q_lora" }, false, "index q");
    TensorId k = builder.linear(name + "wk", x, { d, "index key", "" }, builder.hiddenSide(), false, "index k raw");
    OpAttributes norm;
    norm.epsilon = 1e-6;
    const TensorId gamma = builder.weight(name + "k_norm.weight", { d }, { "index key" }, { 1.0, 0.1 }, { "norm" });
    const TensorId beta = builder.weight(name + "k_norm.bias", { d }, { "index key" }, { 0.0, 0.1 }, { "norm" });
    k = builder.op(name + "k_norm", OpKind::LayerNorm, { k, gamma, beta }, { "index k" }, norm);
    k = turned("k", split("k", k, 1));
    if (builder.decode())
        k = builder.op(name + "k_cache", OpKind::KvAppend, { k }, { "index k cache", {}, { { "c", builder.cachedTokens() } } });
    builder.entry(k).cached = true;
    OpAttributes merge;
    merge.heads = 1;
    k = builder.op(name + "k_merge", OpKind::MergeHeads, { k }, { "index keys", { "index key" } }, merge);
    const TensorId weights = builder.linear(name + "weights_proj", x, { indexer.heads, "index heads", "" }, builder.hiddenSide(),
                                            false, "index weights");
    const TensorId chosen =
        builder.op(name + "select", OpKind::SelectKeys, { turned("q", split("q", q, indexer.heads)), k, weights },
                   { "chosen keys", { "chosen keys" }, { { "m", std::min(indexer.chosen, builder.cachedTokens()) } } });
    builder.entry(chosen).spec.dtype = DType::I32;
    return chosen;
}

/// Keys and values of every head.
TensorId expanded(GraphBuilder& builder, TensorId q, TensorId latent, TensorId ropeKey, TensorId chosen)
{
    const ModelSpec& model = builder.model();
    const MlaSpec& mla = model.mla;
    const std::int64_t width = mla.nopeHeadDim + mla.valueHeadDim;
    builder.entry(latent).cached = builder.entry(ropeKey).cached = true;
    const TensorId kv =
        builder.linear("self_attn.kv_b_proj", latent, { model.heads * width, "heads x (nope + value)", "kv_heads", width },
                       { mla.latentRank, "latent", "kv_lora" }, false, "kv");
    const TensorId heads = splitHeads(builder, "kv", kv, model.heads, "heads");
    const TensorId nope = builder.slice("self_attn.k_nope", heads, 0, mla.nopeHeadDim, "head dim", "k nope");
    const TensorId v = builder.slice("self_attn.v_slice", heads, mla.nopeHeadDim, mla.valueHeadDim, "head dim", "v heads");
    const TensorId k = builder.op("self_attn.k_join", OpKind::JoinKeys, { nope, ropeKey }, { "k heads" });
    return attended(builder, q, k, v, chosen);
}

/// Queries and values of every head in terms of the latent vectors, which are what is kept.
TensorId absorbed(GraphBuilder& builder, TensorId q, TensorId latent, TensorId ropeKey, TensorId chosen)
{
    const ModelSpec& model = builder.model();
    const MlaSpec& mla = model.mla;
    const std::int64_t width = mla.nopeHeadDim + mla.valueHeadDim;
    const TensorId w = builder.weight("self_attn.kv_b_proj.weight", { model.heads * width, mla.latentRank },
                                      { "out (heads x (nope + value))", "in (latent)" },
                                      { 0.0, 1.0 / std::sqrt(static_cast<double>(mla.latentRank)) }, { "kv_heads", "kv_lora" });
    builder.inUnits(w, 0, width);
    const TensorId one = splitHeads(builder, "latent", latent, 1, "KV heads");
    const TensorId both = builder.op("self_attn.kv_join", OpKind::JoinLast, { one, ropeKey }, { "latent and rope key" });
    const TensorId cache = cached(builder, "kv", both);

    const TensorId nope = builder.slice("self_attn.q_nope", q, 0, mla.nopeHeadDim, "head dim", "q nope");
    const TensorId rope = builder.slice("self_attn.q_rope_part", q, mla.nopeHeadDim, mla.ropeHeadDim, "head dim", "q rope");
    const TensorId inLatent = builder.op("self_attn.q_absorb", OpKind::AbsorbKeys, { nope, w }, { "q in latent", { "latent" } });
    const TensorId query = builder.op("self_attn.q_join", OpKind::JoinLast, { inLatent, rope }, { "q latent and rope" });
    const TensorId values = attended(builder, query, cache, cache, chosen);
    return builder.op("self_attn.v_absorb", OpKind::AbsorbValues, { values, w },
                      { "value heads", { "head dim" }, { { "e", mla.valueHeadDim } } });
}

} // namespace

TensorId latentAttentionPart(GraphBuilder& builder, TensorId x)
{
    const ModelSpec& model = builder.model();
    const MlaSpec& mla = model.mla;
    TensorId latentQueries = kNoTensor;
    const TensorId q = queries(builder, x, latentQueries);
    const TensorId chosen = chosenKeys(builder, x, latentQueries);
    const TensorId both =
        builder.linear("self_attn.kv_a_proj_with_mqa", x, { mla.latentRank + mla.ropeHeadDim, "latent + rope", "kv_lora_up_proj" },
                       builder.hiddenSide(), false, "latent and rope key raw");
    TensorId latent = builder.slice("self_attn.latent_slice", both, 0, mla.latentRank, "latent", "latent raw");
    latent = builder.rmsNorm("self_attn.kv_a_layernorm", latent, "latent", "latent");
    TensorId key = builder.slice("self_attn.rope_key_slice", both, mla.latentRank, mla.ropeHeadDim, "head dim", "rope key raw");
    key = rotated(builder, "rope_key", splitHeads(builder, "rope_key", key, 1, "KV heads"));
    const TensorId values =
        builder.decode() ? absorbed(builder, q, latent, key, chosen) : expanded(builder, q, latent, key, chosen);
    return builder.linear("self_attn.o_proj", mergedHeads(builder, values), builder.hiddenSide(),
                          { model.heads * mla.valueHeadDim, "heads x head dim", "heads", mla.valueHeadDim }, false,
                          "attention out");
}

} // namespace shardboard
