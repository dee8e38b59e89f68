// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention. A prompt makes keys and values of all heads from the latent vectors; decoding keeps only the
// latent vectors and one rotated key for each token, and lets the queries of each head take the expansion on themselves
// (they attend to the latent vectors, as if to one KV head), so that no key of the past is made again.
#include "model/families/graphbuilder.h"

#include <cmath>

namespace shardboard {

namespace {

TensorId queries(GraphBuilder& builder, TensorId x)
{
    const ModelSpec& model = builder.model();
    const MlaSpec& mla = model.mla;
    const GraphBuilder::Side heads { model.heads * model.headDim, "heads x head dim", "q_heads", model.headDim };
    TensorId q = kNoTensor;
    if (mla.queryRank > 0) {
        const GraphBuilder::Side rank { mla.queryRank, "query rank", "q_lora_up_proj" };
        q = builder.linear("self_attn.q_a_proj", x, rank, builder.hiddenSide(), false, "q latent");
        q = builder.rmsNorm("self_attn.q_a_layernorm", q, "query rank", "q latent normed");
        q = builder.linear("self_attn.q_b_proj", q, heads, { mla.queryRank, "query rank", "q_lora" }, false, "q");
    } else {
        q = builder.linear("self_attn.q_proj", x, heads, builder.hiddenSide(), false, "q");
    }
    return rotated(builder, "q", splitHeads(builder, "q", q, model.heads, "heads"), mla.nopeHeadDim, mla.ropeHeadDim);
}

/// Keys and values of every head.
TensorId expanded(GraphBuilder& builder, TensorId q, TensorId latent, TensorId ropeKey)
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
    return attended(builder, q, k, v);
}

/// Queries and values of every head in terms of the latent vectors, which are what is kept.
TensorId absorbed(GraphBuilder& builder, TensorId q, TensorId latent, TensorId ropeKey)
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
    const TensorId values = attended(builder, query, cache, cache);
    return builder.op("self_attn.v_absorb", OpKind::AbsorbValues, { values, w },
                      { "value heads", { "head dim" }, { { "e", mla.valueHeadDim } } });
}

} // namespace

TensorId latentAttentionPart(GraphBuilder& builder, TensorId x)
{
    const ModelSpec& model = builder.model();
    const MlaSpec& mla = model.mla;
    const TensorId q = queries(builder, x);
    const TensorId both =
        builder.linear("self_attn.kv_a_proj_with_mqa", x, { mla.latentRank + mla.ropeHeadDim, "latent + rope", "kv_lora_up_proj" },
                       builder.hiddenSide(), false, "latent and rope key raw");
    TensorId latent = builder.slice("self_attn.latent_slice", both, 0, mla.latentRank, "latent", "latent raw");
    latent = builder.rmsNorm("self_attn.kv_a_layernorm", latent, "latent", "latent");
    TensorId key = builder.slice("self_attn.rope_key_slice", both, mla.latentRank, mla.ropeHeadDim, "head dim", "rope key raw");
    key = rotated(builder, "rope_key", splitHeads(builder, "rope_key", key, 1, "KV heads"));
    const TensorId values = builder.decode() ? absorbed(builder, q, latent, key) : expanded(builder, q, latent, key);
    return builder.linear("self_attn.o_proj", mergedHeads(builder, values), builder.hiddenSide(),
                          { model.heads * mla.valueHeadDim, "heads x head dim", "heads", mla.valueHeadDim }, false,
                          "attention out");
}

} // namespace shardboard
