// SPDX-License-Identifier: Apache-2.0
// What some layers have beside attention to their own tokens and an MLP: attention to what another part of the model gives, and a
// vector of their own for each token.
#include "model/families/graphbuilder.h"

#include <cmath>

namespace shardboard {

TensorId crossAttentionPart(GraphBuilder& builder, TensorId x, TensorId others)
{
    const ModelSpec& model = builder.model();
    const std::int64_t d = model.headDim;
    const bool bias = model.attentionBias != AttentionBias::None;
    const bool normed = model.qkNorm || !model.encoder.present(); // Llama 3.2 Vision norms queries and keys in these layers alone
    const auto heads = [&](const std::string& letter, TensorId from, bool ofQueries) {
        const std::int64_t count = ofQueries ? model.heads : model.kvHeads;
        const std::string label = ofQueries ? "heads" : "KV heads";
        const TensorId all = builder.linear(
            "cross_attn." + letter + "_proj", from, { count * d, label + " x head dim", ofQueries ? "q_heads" : "kv_heads", d },
            builder.hiddenSide(), bias && (letter != "k" || model.block.keyBias), "cross " + letter);
        OpAttributes split;
        split.heads = count;
        const TensorId out = builder.op("cross_attn." + letter + "_heads", OpKind::SplitHeads, { all },
                                        { "cross " + letter + " heads", { label, "head dim" } }, split);
        return normed && letter != "v"
            ? builder.rmsNorm("cross_attn." + letter + "_norm", out, "head dim", "cross " + letter + " normed")
            : out;
    };
    // What it attends to is the same for every new token: made once, and kept.
    const auto kept = [&](const std::string& letter, TensorId of) {
        if (builder.decode())
            of = builder.op("cross_attn." + letter + "_cache", OpKind::KvAppend, { of },
                            { "cross " + letter + " cache", {}, { { "c", builder.cachedTokens() } } });
        builder.entry(of).cached = true;
        if (builder.decode())
            builder.entry(of).spec.dtype = builder.cacheType();
        return of;
    };
    const TensorId q = heads("q", x, true);
    const TensorId k = kept("k", heads("k", others, false));
    const TensorId v = kept("v", heads("v", others, false));
    OpAttributes attributes;
    if (model.scaling.queryScalar > 0)
        attributes.scale = 1.0 / std::sqrt(model.scaling.queryScalar);
    attributes.unfused = builder.unfusedAttention();
    attributes.scoresAgain = builder.scoresAgain();
    attributes.bothWays = true;
    const TensorId values = builder.op("cross_attn.attention", OpKind::Attention, { q, k, v },
                                       { "cross attention heads", { "head dim" }, { { "e", d } } }, attributes);
    OpAttributes merge;
    merge.heads = model.heads;
    const TensorId merged = builder.op("cross_attn.merge_heads", OpKind::MergeHeads, { values },
                                       { "cross attention values", { "heads x head dim" } }, merge);
    builder.inUnits(merged, 2, d);
    return builder.linear("cross_attn.o_proj", merged, builder.hiddenSide(), { model.heads * d, "heads x head dim", "heads", d },
                          model.attentionBias == AttentionBias::Qkvo, "cross attention out");
}

TensorId layerInputPart(GraphBuilder& builder, TensorId tokens, TensorId y, TensorId x)
{
    const ModelSpec& model = builder.model();
    const std::int64_t width = model.layerInput.width;
    const GraphBuilder::Side inner { width, "layer input", "" };
    // The tables of all layers are one weight in the checkpoint, and so are their projections.
    const auto ofLayer = [&](const std::string& name, std::size_t dim, Shape shape, GraphBuilder::Labels labels, double deviation,
                             GraphBuilder::Labels logical) {
        const TensorId id =
            builder.weight(name + ".weight", std::move(shape), std::move(labels), { 0.0, deviation }, std::move(logical));
        builder.entry(id).part = { model.weightPrefix + name + ".weight", dim, 0 };
        return id;
    };
    const TensorId table =
        ofLayer("embed_tokens_per_layer", 1, { model.layerInput.rows, width }, { "vocabulary", "layer input" }, 1, { "vocab", "" });
    TensorId looked =
        builder.op("layer_input.embed", OpKind::Embedding, { tokens, table }, { "layer embedding", { "layer input" } });
    looked = builder.scaled("layer_input.embed_scale", looked, std::sqrt(static_cast<double>(width)), "layer embedding scaled");
    const double root = 1 / std::sqrt(static_cast<double>(model.hiddenSize));
    const TensorId projection = ofLayer("per_layer_model_projection", 0, { width, model.hiddenSize },
                                        { "out (layer input)", "in (hidden)" }, root, { "", "embed" });
    TensorId context =
        builder.op("layer_input.context", OpKind::Linear, { x, projection }, { "layer context raw", { "layer input" } });
    context = builder.scaled("layer_input.context_scale", context, root, "layer context scaled");
    OpAttributes norm;
    norm.epsilon = model.norm.epsilon;
    context = builder.op("layer_input.context_norm", OpKind::UnitNorm, { context }, { "layer context" }, norm);
    TensorId input = builder.op("layer_input.sum", OpKind::Add, { looked, context }, { "layer input sum" });
    input = builder.scaled("layer_input.scale", input, std::sqrt(0.5), "layer input");
    const TensorId gate = builder.linear("per_layer_input_gate", y, inner, builder.hiddenSide(), false, "layer gate");
    const TensorId inside = builder.activation("layer_input.", "layer input", gate, input);
    const TensorId out = builder.linear("per_layer_projection", inside, builder.hiddenSide(), inner, false, "layer input out");
    return builder.norm("post_per_layer_input_norm", out, "layer input normed");
}

} // namespace shardboard
