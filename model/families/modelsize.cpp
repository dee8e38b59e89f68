// SPDX-License-Identifier: Apache-2.0
#include "model/families/modelsize.h"

#include "model/core/checked.h"

#include <array>

namespace shardboard {

namespace {

/// A count that remembers when it did not fit.
class Count {
public:
    Count(std::int64_t value = 0) // NOLINT: a size is a count
        : m_value(value)
    {
    }
    friend Count operator+(Count a, Count b) { return Count(both(a, b) ? checkedAdd(*a.m_value, *b.m_value) : std::nullopt); }
    friend Count operator*(Count a, Count b) { return Count(both(a, b) ? checkedMultiply(*a.m_value, *b.m_value) : std::nullopt); }
    std::optional<std::int64_t> value() const { return m_value; }

private:
    explicit Count(std::optional<std::int64_t> value)
        : m_value(value)
    {
    }
    static bool both(const Count& a, const Count& b) { return a.m_value && b.m_value; }
    std::optional<std::int64_t> m_value;
};

/// A matrix and, when it has one, its bias.
Count linear(Count in, Count out, bool bias = false) { return in * out + (bias ? out : Count(0)); }

Count latentAttention(const ModelSpec& model)
{
    const MlaSpec& mla = model.mla;
    const Count hidden = model.hiddenSize;
    const Count heads = model.heads;
    const Count queries = heads * Count(model.headDim);
    const Count query = mla.queryRank > 0 ? linear(hidden, mla.queryRank) + Count(mla.queryRank) + linear(mla.queryRank, queries)
                                          : linear(hidden, queries);
    const Count latent = linear(hidden, Count(mla.latentRank) + Count(mla.ropeHeadDim)) + Count(mla.latentRank);
    const Count expand = linear(mla.latentRank, heads * (Count(mla.nopeHeadDim) + Count(mla.valueHeadDim)));
    const Count indexHeads = Count(model.indexer.heads) * Count(model.indexer.headDim);
    const Count indexer = model.indexer.present() ? linear(mla.queryRank, indexHeads) + linear(hidden, model.indexer.headDim)
            + Count(2) * Count(model.indexer.headDim) + linear(hidden, model.indexer.heads)
                                                  : Count(0);
    return indexer + query + latent + expand + linear(heads * Count(mla.valueHeadDim), hidden);
}

Count attention(const ModelSpec& model)
{
    if (model.mla.present())
        return latentAttention(model);
    const bool qkvBias = model.attentionBias != AttentionBias::None;
    const bool keyBias = qkvBias && (model.block.keyBias || model.block.joinedQkv);
    const Count hidden = model.hiddenSize;
    const Count queries = Count(model.heads) * Count(model.headDim);
    const Count keys = Count(model.kvHeads) * Count(model.headDim);
    const Count values = Count(model.kvHeads) * Count(model.valueHeadDim());
    const Count merged = Count(model.heads) * Count(model.valueHeadDim());
    const Count gates = model.block.gateApart ? linear(hidden, merged)
        : model.block.gateByHead              ? linear(hidden, model.heads)
                                              : Count(0);
    const Count norms = model.wideQkNorm || model.headNorms ? queries + keys
        : model.qkNorm                                      ? Count(model.qkNormBias ? 4 : 2) * Count(model.headDim)
                                                            : Count(0);
    if (model.block.keysShared)
        return linear(hidden, queries, qkvBias) + linear(merged, hidden, model.attentionBias == AttentionBias::Qkvo)
            + (model.qkNorm ? Count(model.headDim) : Count(0));
    return linear(hidden, Count(model.block.attentionGate ? 2 : 1) * queries, qkvBias) + linear(hidden, keys, keyBias)
        + (model.block.keysAreValues ? Count(0) : linear(hidden, values, qkvBias)) + gates
        + linear(merged, hidden, model.attentionBias == AttentionBias::Qkvo) + norms
        + (model.attentionSinks ? Count(model.heads) : Count(0));
}

Count mlp(Count hidden, Count inner, bool gated, bool bias)
{
    return Count(gated ? 2 : 1) * linear(hidden, inner, bias) + linear(inner, hidden, bias);
}

/// A MoE layer's MLP with that many routed experts.
Count moe(const ModelSpec& model, std::int64_t experts)
{
    const MoeSpec& moe = model.moe;
    const Count hidden = model.hiddenSize;
    const Count read = moe.latentSize > 0 ? Count(moe.latentSize) : hidden;
    const Count one = mlp(read, moe.intermediateSize, model.block.gatedMlp, moe.expertBias);
    const Count latent = moe.latentSize > 0 ? linear(hidden, read, model.mlpBias) + linear(read, hidden, model.mlpBias) : Count(0);
    const Count shared = moe.sharedWidth > 0 ? Count(moe.sharedWidth) : Count(moe.sharedExperts) * Count(moe.intermediateSize);
    return latent + linear(hidden, moe.experts, moe.routerBias || moe.correctionBias) + Count(experts) * one
        + (mlp(hidden, shared, model.block.gatedMlp, false) + Count(moe.sharedGate ? 1 : 0) * hidden)
        * Count(moe.sharedExperts > 0 ? 1 : 0);
}

Count recurrent(const ModelSpec& model)
{
    const RecurrentSpec& spec = model.recurrent;
    const Count hidden = model.hiddenSize;
    const Count heads = spec.heads;
    const Count inner = heads * Count(spec.valueDim);
    const Count channels = inner + Count(2) * Count(spec.keyHeads) * Count(spec.keyDim);
    const Count taps = channels * (Count(spec.taps) + Count(spec.convolutionBias ? 1 : 0));
    if (spec.kind == RecurrentKind::Convolution)
        return linear(hidden, Count(3) * inner, spec.bias) + inner * Count(spec.taps + (spec.convolutionBias ? 1 : 0))
            + linear(inner, hidden, spec.bias);
    if (spec.kind == RecurrentKind::Lightning)
        return linear(hidden, channels, spec.bias) + linear(hidden, inner, spec.bias) + inner + linear(inner, hidden, spec.bias);
    if (spec.kind == RecurrentKind::Selective) {
        const Count n = spec.keyDim, rank = spec.stepRank, parts = rank + Count(2) * n;
        return linear(hidden, Count(2) * inner, spec.bias) + inner * Count(spec.taps + (spec.convolutionBias ? 1 : 0))
            + linear(inner, parts) + (spec.partNorms ? parts : Count(0)) + linear(rank, inner, true) + inner * n + inner
            + linear(inner, hidden, spec.bias);
    }
    if (spec.keyDecay) {
        const Count keys = Count(spec.keyHeads) * Count(spec.keyDim), rank = spec.gateRank;
        const auto through = [&](Count wide) {
            return spec.gateRank > 0 ? linear(hidden, rank) + linear(rank, wide) : linear(hidden, wide);
        };
        return linear(hidden, channels, spec.bias) + taps + through(keys) + through(inner) + linear(hidden, heads) + heads + keys
            + Count(spec.valueDim) + linear(inner, hidden, spec.bias);
    }
    const Count in = linear(hidden, inner + channels + heads, spec.bias);
    if (spec.kind == RecurrentKind::DeltaRule) // rates beside steps
        return in + linear(hidden, heads, spec.bias) + taps + Count(2) * heads + Count(spec.valueDim)
            + linear(inner, hidden, spec.bias);
    return in + taps + Count(3) * heads + (spec.normGroups > 0 ? inner : Count(0)) + linear(inner, hidden, spec.bias);
}

Count norm(const ModelSpec& model)
{
    if (!model.norm.weighted)
        return 0;
    return Count(model.norm.kind == NormKind::LayerNorm && model.norm.bias ? 2 : 1) * Count(model.hiddenSize);
}

/// What a layer has beside attention and an MLP.
Count besideParts(const ModelSpec& model)
{
    const Count hidden = model.hiddenSize;
    const Count width = model.layerInput.width, rank = model.besideRank;
    const Count inner =
        model.block.innerNorms ? Count(model.heads) * Count(model.valueHeadDim()) + Count(model.intermediateSize) : Count(0);
    return inner
        + (model.layerInput.present() ? width * (Count(model.layerInput.rows) + Count(3) * hidden) + norm(model) : Count(0))
        + (model.besideRank > 0 ? Count(2) * rank * hidden + norm(model) : Count(0));
}

/// The encoder, and what the decoder's layers have for it.
Count encoder(const ModelSpec& model)
{
    const ModelSpec own = model.withEncoder();
    const Count hidden = model.hiddenSize;
    return Count(own.layers)
        * (attention(own) + Count(2) * norm(model) + mlp(hidden, own.intermediateSize, model.block.gatedMlp, model.mlpBias))
        + (model.norm.last ? norm(model) : Count(0)) + Count(own.positions) * hidden
        + (model.embeddingNorm ? norm(model) : Count(0)) + Count(model.layers) * (attention(model) + norm(model));
}

Count parameters(const ModelSpec& model, std::int64_t experts)
{
    const Count hidden = model.hiddenSize;
    const Count tables = (Count(model.tableRows > 0 ? model.tableRows : model.vocabSize)
                          + Count(model.tiedEmbeddings ? 0 : model.vocabSize) + Count(model.positions) + Count(model.tokenTypes))
            * hidden
        + (model.embeddingNorm ? norm(model) : Count(0))
        + (model.headTransform ? linear(hidden, hidden, model.norm.bias) + norm(model) : Count(0));
    const Count last = model.norm.last ? norm(model) : Count(0);
    const Count inLayers = Count(model.layers) * besideParts(model) + (model.encoder.present() ? encoder(model) : Count(0));
    const Count beside = model.moe.besideMlp ? mlp(hidden, model.intermediateSize, model.block.gatedMlp, model.mlpBias)
            + Count(4) * norm(model) + Count(model.moe.experts)
                                             : Count(0);
    const Count dense = mlp(hidden, model.intermediateSize, model.block.gatedMlp, model.mlpBias);
    const std::int64_t sparse = model.layers - model.denseLayers();
    const Count ends = inLayers + tables + (model.headBias ? Count(model.vocabSize) : Count(0)) + last;
    if (const std::string& pattern = model.block.pattern; !pattern.empty()) {
        Count sum = ends;
        const Count ofAttention = attention(model);
        const Count ofOther = attention(model.withOther());
        const ModelSpec shared = model.withSharedKeys();
        const Count ofShared = attention(shared);
        const Count ofOtherShared = attention(model.withOther().withSharedKeys());
        const Count sharedDense = mlp(hidden, shared.intermediateSize, model.block.gatedMlp, model.mlpBias);
        const Count ofState = model.recurrent.present() ? recurrent(model) : Count(0);
        const Count ofExperts = model.moe.present() ? moe(model, experts) + beside : Count(0);
        for (std::int64_t layer = 0; layer < model.layers; ++layer) {
            const LayerParts parts = model.partsOf(layer);
            const bool mixes = parts.attention || parts.recurrent;
            sum = sum + (parts.cross && !model.qkNorm ? Count(2) * Count(model.headDim) : Count(0))
                + (parts.sharedKeys      ? (parts.other ? ofOtherShared : ofShared)
                       : parts.other     ? ofOther
                       : parts.attention ? ofAttention
                                         : Count(0))
                + (parts.recurrent ? ofState : Count(0))
                + (parts.experts           ? ofExperts
                       : parts.sharedKeys  ? sharedDense
                       : parts.feedForward ? dense
                                           : Count(0))
                + Count((mixes && parts.feedForward ? model.norm.perLayer : 1) - (parts.normed ? 0 : 1)) * norm(model);
        }
        return sum;
    }
    const std::int64_t norms = model.layers * model.norm.perLayer - (model.norm.first ? 0 : 1);
    return ends + Count(model.layers) * attention(model) + Count(norms) * norm(model) + Count(model.denseLayers()) * dense
        + (sparse > 0 ? Count(sparse) * (moe(model, experts) + beside) : Count(0));
}

} // namespace

std::optional<ModelSize> modelSize(const ModelSpec& model)
{
    if (model.kind == ModelKind::ColumnParallelLinear) {
        const auto count = linear(model.linear.inDim, model.linear.outDim, model.linear.hasBias).value();
        return count ? std::optional(ModelSize { *count, *count }) : std::nullopt;
    }
    if (model.hiddenSize < 1)
        return std::nullopt; // no dimensions are known
    const auto total = parameters(model, model.moe.experts).value();
    const auto active = parameters(model, model.moe.chosen).value();
    return total && active ? std::optional(ModelSize { *total, *active }) : std::nullopt;
}

} // namespace shardboard
