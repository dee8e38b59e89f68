// SPDX-License-Identifier: Apache-2.0
// Attention with as many KV heads as the model has, its projections apart, one weight as a whole, or fused by KV group.
#include "model/families/graphbuilder.h"
#include "model/families/window.h"

#include <cmath>

namespace shardboard {

namespace {

struct Projected {
    TensorId q, k, v; ///< [B,S,heads,d]
    TensorId gate = kNoTensor; ///< like the queries
};

/// Norms over all heads together.
void wideNorms(GraphBuilder& builder, TensorId& q, TensorId& k)
{
    if (!builder.model().wideQkNorm)
        return;
    q = builder.rmsNorm("self_attn.q_norm", q, "heads x head dim", "q normed");
    k = builder.rmsNorm("self_attn.k_norm", k, "KV heads x head dim", "k normed");
}

Projected apart(GraphBuilder& builder, TensorId x)
{
    const ModelSpec& model = builder.model();
    const std::int64_t d = model.headDim;
    const bool parts = model.block.joinedQkv; // of one weight
    const auto biased = [&](std::string_view letter) {
        return model.attentionBias != AttentionBias::None && (letter != "k" || model.block.keyBias || parts);
    };
    const bool bias = biased("q");
    const GraphBuilder::Side queries { model.heads * d, "heads x head dim", "q_heads", d };
    const GraphBuilder::Side keys { model.kvHeads * d, "KV heads x head dim", "kv_heads", d };
    const std::int64_t e = model.valueHeadDim();
    const GraphBuilder::Side values { model.kvHeads * e, "KV heads x head dim", "kv_heads", e };
    const auto project = [&](const char* letter, const GraphBuilder::Side& side, std::int64_t first) {
        return parts
            ? builder.linear("self_attn.qkv_proj", x, side, builder.hiddenSide(), biased(letter), letter, { letter, first })
            : builder.linear(std::string("self_attn.") + letter + "_proj", x, side, builder.hiddenSide(), biased(letter), letter);
    };
    if (model.block.attentionGate && !parts) {
        const GraphBuilder::Side both { 2 * model.heads * d, "heads x (head dim, gates)", "q_heads", 2 * d };
        const TensorId wide =
            splitHeads(builder, "qg", builder.linear("self_attn.q_proj", x, both, builder.hiddenSide(), bias, "q and gates"),
                       model.heads, "heads");
        const TensorId k = project("k", keys, 0);
        const TensorId v = project("v", keys, 0);
        return { builder.slice("self_attn.q_slice", wide, 0, d, "head dim", "q heads"),
                 splitHeads(builder, "k", k, model.kvHeads, "KV heads"), splitHeads(builder, "v", v, model.kvHeads, "KV heads"),
                 builder.slice("self_attn.gate_slice", wide, d, d, "head dim", "gates") };
    }
    const bool keysAreValues = model.block.keysAreValues && !parts;
    TensorId q = project("q", queries, 0);
    TensorId k = project("k", keys, queries.size);
    const TensorId v = keysAreValues ? k : project("v", values, queries.size + keys.size);
    wideNorms(builder, q, k);
    Projected out { splitHeads(builder, "q", q, model.heads, "heads"), splitHeads(builder, "k", k, model.kvHeads, "KV heads"),
                    kNoTensor };
    out.v = keysAreValues ? out.k : splitHeads(builder, "v", v, model.kvHeads, "KV heads");
    return out;
}

/// The norm of one letter's heads. Where each head has weights of its own these are flat, as the norm's heads are for them.
TensorId normedHeads(GraphBuilder& builder, const std::string& letter, TensorId x)
{
    const ModelSpec& model = builder.model();
    const std::string name = "self_attn." + letter + "_norm";
    if (model.qkNormBias)
        return builder.layerNorm(name, x, "head dim", letter + " normed");
    if (!model.headNorms)
        return builder.rmsNorm(name, x, "head dim", letter + " normed");
    const Shape shape = builder.tensor(x).shape;
    const std::string label = letter == "q" ? "heads" : "KV heads";
    OpAttributes norm;
    norm.epsilon = model.norm.epsilon;
    norm.centred = model.norm.kind == NormKind::LayerNorm;
    const TensorId units = builder.op("self_attn." + letter + "_unit", OpKind::UnitNorm, { x }, { letter + " of length 1" }, norm);
    const auto merged = [&](const std::string& what, TensorId from, std::int64_t heads) {
        OpAttributes merge;
        merge.heads = heads;
        const TensorId id = builder.op("self_attn." + letter + "_" + what, OpKind::MergeHeads, { from },
                                       { letter + " " + what, { label + " x head dim" } }, merge);
        builder.inUnits(id, 2, shape[3]);
        return id;
    };
    const TensorId gamma =
        builder.weight(name + ".weight", { shape[2] * shape[3] }, { label + " x head dim" }, { 1.0, 0.1 }, { "" });
    builder.inUnits(gamma, 0, shape[3]);
    const TensorId each =
        splitHeads(builder, letter + "_each", merged("flat", units, shape[2]), shape[2] * shape[3], label + " x head dim");
    const TensorId scaled = builder.op(name, OpKind::HeadScale, { each, gamma }, { letter + " scaled" });
    return splitHeads(builder, letter + "_normed", merged("again", scaled, shape[2] * shape[3]), shape[2], label);
}

/// Queries alone: keys and values are those of an earlier layer. In their place stands a part of the layer's own input, which is
/// as large and lies like them.
Projected ofQueries(GraphBuilder& builder, TensorId x)
{
    const ModelSpec& model = builder.model();
    const std::int64_t d = model.headDim;
    const TensorId q = builder.linear("self_attn.q_proj", x, { model.heads * d, "heads x head dim", "q_heads", d },
                                      builder.hiddenSide(), model.attentionBias != AttentionBias::None, "q");
    const TensorId shared = builder.slice("self_attn.shared_slice", x, 0, model.kvHeads * d, "KV heads x head dim", "keys shared");
    builder.inUnits(shared, 2, d);
    const TensorId k = splitHeads(builder, "k", shared, model.kvHeads, "KV heads");
    return { splitHeads(builder, "q", q, model.heads, "heads"), k, k };
}

/// A gate for each head of a token.
TensorId gatedHeads(GraphBuilder& builder, TensorId values, TensorId gates)
{
    return builder.model().block.gateByHead
        ? builder.op("self_attn.gate_mul", OpKind::HeadGate, { values, gates }, { "attention heads gated" })
        : values;
}

/// Gates of a projection of their own: as many as the heads have elements, or one for each head.
TensorId gatesApart(GraphBuilder& builder, TensorId x)
{
    const ModelSpec& model = builder.model();
    if (!model.block.gateApart && !model.block.gateByHead)
        return kNoTensor;
    const std::int64_t width = model.block.gateByHead ? 1 : model.valueHeadDim();
    const TensorId gates = builder.linear("self_attn.gate_proj", x,
                                          { model.heads * width, width > 1 ? "heads x head dim" : "heads", "q_heads", width },
                                          builder.hiddenSide(), false, "gates raw");
    return builder.op("self_attn.gate_sigmoid", OpKind::Sigmoid, { gates }, { "gates open" });
}

/// One product for all: the rows of all queries, then those of all keys, then those of all values.
Projected joined(GraphBuilder& builder, TensorId x)
{
    const ModelSpec& model = builder.model();
    const std::int64_t d = model.headDim;
    const std::int64_t queries = model.heads * d;
    const std::int64_t keys = model.kvHeads * d;
    const TensorId all = builder.linear("self_attn.qkv_proj", x, { queries + 2 * keys, "queries, keys, values", "kv_heads", d },
                                        builder.hiddenSide(), model.attentionBias != AttentionBias::None, "qkv");
    const auto part = [&](const std::string& letter, std::int64_t first, std::int64_t size, const std::string& label) {
        const TensorId id = builder.slice("self_attn." + letter + "_slice", all, first, size, label + " x head dim", letter);
        builder.inUnits(id, 2, d);
        return id;
    };
    TensorId q = part("q", 0, queries, "heads");
    TensorId k = part("k", queries, keys, "KV heads");
    const TensorId v = part("v", queries + keys, keys, "KV heads");
    wideNorms(builder, q, k);
    return { splitHeads(builder, "q", q, model.heads, "heads"), splitHeads(builder, "k", k, model.kvHeads, "KV heads"),
             splitHeads(builder, "v", v, model.kvHeads, "KV heads") };
}

/// One product for all: the rows of a KV group are its query heads, its key and its value.
Projected fused(GraphBuilder& builder, TensorId x)
{
    const ModelSpec& model = builder.model();
    const std::int64_t d = model.headDim;
    const std::int64_t groups = model.kvHeads;
    const std::int64_t queries = model.heads / groups;
    const std::int64_t width = (queries + 2) * d;
    const TensorId all = builder.linear("self_attn.qkv_proj", x, { groups * width, "KV groups x their heads", "kv_heads", width },
                                        builder.hiddenSide(), model.attentionBias != AttentionBias::None, "qkv");
    OpAttributes split;
    split.heads = groups;
    const TensorId grouped = builder.op("self_attn.qkv_groups", OpKind::SplitHeads, { all },
                                        { "qkv groups", { "KV heads", "heads of a group" } }, split);
    TensorId q = builder.slice("self_attn.q_slice", grouped, 0, queries * d, "heads of a group", "q groups");
    split.heads = model.heads;
    q = builder.op("self_attn.q_heads", OpKind::SplitGroups, { q }, { "q heads", { "heads", "head dim" } }, split);
    const TensorId k = builder.slice("self_attn.k_slice", grouped, queries * d, d, "head dim", "k heads");
    const TensorId v = builder.slice("self_attn.v_slice", grouped, (queries + 1) * d, d, "head dim", "v heads");
    return { q, k, v };
}

/// Of all the keys that queries see, where each reads at most so many.
double chosenShare(const GraphBuilder& builder, std::int64_t most)
{
    const auto n = static_cast<double>(builder.cachedTokens());
    const auto m = static_cast<double>(most);
    return builder.decode() ? m / n : (m * (m + 1) / 2 + (n - m) * m) / (n * (n + 1) / 2);
}

} // namespace

TensorId splitHeads(GraphBuilder& builder, const std::string& letter, TensorId x, std::int64_t count, const std::string& label)
{
    OpAttributes split;
    split.heads = count;
    return builder.op("self_attn." + letter + "_heads", OpKind::SplitHeads, { x }, { letter + " heads", { label, "head dim" } },
                      split);
}

TensorId rotated(GraphBuilder& builder, const std::string& letter, TensorId x, std::int64_t first, std::int64_t count)
{
    if (builder.model().ropeTheta == 0)
        return x;
    OpAttributes rope;
    rope.ropeTheta = builder.model().ropeTheta;
    rope.position = builder.position();
    rope.first = first;
    rope.count = count;
    return builder.op("self_attn." + letter + "_rope", OpKind::Rope, { x }, { letter + " rotated" }, rope);
}

TensorId cached(GraphBuilder& builder, const std::string& letter, TensorId x)
{
    if (builder.decode())
        x = builder.op("self_attn." + letter + "_cache", OpKind::KvAppend, { x },
                       { letter + " cache", {}, { { "c", builder.cachedTokens() } } });
    GraphTensor& entry = builder.entry(x);
    entry.cached = true;
    entry.cachedShare = cachedShare(builder.model(), builder.cachedTokens());
    if (builder.decode()) {
        entry.density = entry.cachedShare;
        entry.spec.dtype = builder.cacheType();
    }
    return x;
}

TensorId mergedHeads(GraphBuilder& builder, TensorId values)
{
    OpAttributes merge;
    merge.heads = builder.model().heads;
    const TensorId merged =
        builder.op("self_attn.merge_heads", OpKind::MergeHeads, { values }, { "attention values", { "heads x head dim" } }, merge);
    builder.inUnits(merged, 2, builder.tensor(values).shape.back());
    return merged;
}

TensorId attended(GraphBuilder& builder, TensorId q, TensorId k, TensorId v, TensorId chosen)
{
    const ModelSpec& model = builder.model();
    OpAttributes attributes;
    if (model.scaling.queryScalar > 0)
        attributes.scale = 1.0 / std::sqrt(model.scaling.queryScalar);
    else if (model.mla.present())
        attributes.scale = 1.0 / std::sqrt(static_cast<double>(model.headDim));
    attributes.cap = model.scaling.attentionSoftCap;
    attributes.unfused = builder.unfusedAttention();
    attributes.dropout = attributes.unfused && builder.trains() && model.norm.kind == NormKind::LayerNorm;
    if (!builder.decode()
        && !attributes.unfused) // decoding counts by what is in the cache; unfused kernels make all scores and mask them
        attributes.attended = attendedShare(model, builder.newTokens());
    attributes.scoresAgain = builder.scoresAgain();
    attributes.alibi = model.alibi;
    attributes.bothWays = model.block.bothWays;
    std::vector<TensorId> operands { q, k, v };
    if (model.attentionSinks)
        operands.push_back(builder.weight("self_attn.sinks", { model.heads }, { "heads" }, { 0.0, 1.0 }, { "" }));
    if (chosen != kNoTensor) {
        operands.push_back(chosen);
        attributes.attended = chosenShare(builder, builder.tensor(chosen).shape.back());
        attributes.unfused = attributes.scoresAgain = attributes.dropout = false;
    }
    const std::int64_t width = model.mla.present() && builder.decode() ? model.mla.latentRank : builder.tensor(v).shape.back();
    const OpKind kind = chosen != kNoTensor ? OpKind::SelectedAttention
        : model.attentionSinks              ? OpKind::SinkAttention
                                            : OpKind::Attention;
    return builder.op("self_attn.attention", kind, std::move(operands), { "attention heads", { "head dim" }, { { "e", width } } },
                      attributes);
}

TensorId attentionPart(GraphBuilder& builder, TensorId x)
{
    const ModelSpec& model = builder.model();
    if (model.mla.present())
        return latentAttentionPart(builder, x);
    const bool whole = model.block.joinedQkv && !model.block.partsApart;
    const bool shared = model.block.keysShared;
    Projected heads = shared   ? ofQueries(builder, x)
        : model.block.fusedQkv ? fused(builder, x)
        : whole                ? joined(builder, x)
                               : apart(builder, x);
    if (model.qkNorm && !model.wideQkNorm) {
        heads.q = normedHeads(builder, "q", heads.q);
        heads.k = shared ? heads.k : normedHeads(builder, "k", heads.k);
    }
    heads.q = rotated(builder, "q", heads.q, 0, model.rotaryDim);
    if (shared) { // they are in the cache once, with the layer that made them
        heads.k = cached(builder, "k", heads.k);
        builder.entry(heads.k).cachedShare = 0;
        heads.v = heads.k;
    } else {
        heads.k = cached(builder, "k", rotated(builder, "k", heads.k, 0, model.rotaryDim));
        if (model.block.valueNorm) {
            OpAttributes norm;
            norm.epsilon = model.norm.epsilon;
            heads.v = builder.op("self_attn.v_norm", OpKind::UnitNorm, { heads.v }, { "v normed" }, norm);
        }
        heads.v = cached(builder, "v", heads.v);
    }
    const TensorId apartGates = gatesApart(builder, x);
    TensorId merged = mergedHeads(builder, gatedHeads(builder, attended(builder, heads.q, heads.k, heads.v), apartGates));
    if (model.block.gateApart) {
        merged = builder.op("self_attn.gate_mul", OpKind::Mul, { merged, apartGates }, { "attention values gated" });
        builder.inUnits(merged, 2, model.valueHeadDim());
    }
    if (heads.gate != kNoTensor) {
        OpAttributes merge;
        merge.heads = model.heads;
        const TensorId flat = builder.op("self_attn.gate_merge", OpKind::MergeHeads, { heads.gate },
                                         { "gates of heads", { "heads x head dim" } }, merge);
        const TensorId gate = builder.op("self_attn.gate_sigmoid", OpKind::Sigmoid, { flat }, { "gates open" });
        merged = builder.op("self_attn.gate_mul", OpKind::Mul, { merged, gate }, { "attention values gated" });
        builder.inUnits(merged, 2, model.headDim);
    }
    if (model.block.innerNorms)
        merged = builder.rmsNorm("self_attn.attn_sub_norm", merged, "heads x head dim", "attention values normed");
    return builder.linear("self_attn.o_proj", merged, builder.hiddenSide(),
                          { model.heads * model.valueHeadDim(), "heads x head dim", "heads", model.valueHeadDim() },
                          model.attentionBias == AttentionBias::Qkvo, "attention out");
}

} // namespace shardboard
