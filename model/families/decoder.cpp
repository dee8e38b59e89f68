// SPDX-License-Identifier: Apache-2.0
#include "model/families/decoder.h"

#include "model/core/checked.h"
#include "model/families/graphbuilder.h"
#include "model/families/modelsize.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace shardboard {

namespace {

/// Embedding, layers and head around the parts of a block; the names of weights are those of a Hugging Face checkpoint.
class DecoderBuilder {
public:
    DecoderBuilder(const ModelSpec& model, const Workload& workload)
        : m_model(model)
        , m_other(model.withOther())
        , m_shared(model.withSharedKeys())
        , m_otherShared(m_other.withSharedKeys())
        , m_encoder(model.withEncoder())
        , m_builder(model, workload)
        , m_train(workload.kind == WorkloadKind::Train)
        , m_lastLogits(workload.lastLogits())
        , m_predicted(effective(workload).predicted)
    {
    }

    Result<Graph> build(const std::vector<std::int64_t>& splitBefore)
    {
        TensorId hidden = m_model.encoder.present() ? encoded() : embed();
        std::vector<std::int64_t> bounds { 0, m_model.layers };
        bounds.insert(bounds.end(), splitBefore.begin(), splitBefore.end());
        for (std::int64_t layer = 1; layer < m_model.layers; ++layer)
            if (m_model.partsOf(layer) != m_model.partsOf(layer - 1))
                bounds.push_back(layer);
        std::ranges::sort(bounds);
        bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
        for (std::size_t i = 0; i + 1 < bounds.size(); ++i)
            hidden = block(hidden, bounds[i], bounds[i + 1]);
        head(hidden);
        return std::move(m_builder).finish();
    }

private:
    TensorId embed()
    {
        m_builder.begin("embed", m_model.weightPrefix, kNoTensor);
        m_tokens = m_builder.add("tokens", TensorRole::Input, { m_builder.batch(), m_builder.newTokens() }, { "batch", "sequence" },
                                 DType::I32);
        m_builder.entry(m_tokens).spec.logicalNames = { "activation_embed_and_logits_batch", "activation_norm_length" };
        m_table = m_builder.weight("embed_tokens.weight",
                                   { m_model.tableRows > 0 ? m_model.tableRows : m_model.vocabSize, m_model.hiddenSize },
                                   { "vocabulary", "hidden" }, { 0.0, 1.0 }, { "vocab", "embed_vocab" });
        return handedOn(embedded(), "residual stream");
    }

    TensorId handedOn(TensorId x, const std::string& name)
    {
        const TensorId stream = m_builder.op("residual_stream", OpKind::Output, { x }, { name });
        m_builder.segment().carryOut = stream;
        return stream;
    }

    /// The encoder, and where the decoder begins. What its layers attend to would have to reach all of them; it goes into the
    /// decoder's stream in its place, so that everything depends on everything that it depends on.
    TensorId encoded()
    {
        m_builder.use(m_encoder);
        TensorId x = embed();
        m_parts = { .attention = true, .feedForward = true };
        m_builder.begin("encoder block", m_model.weightPrefix + m_encoder.nameOf("layers") + ".*.", x);
        m_builder.segment().count = m_encoder.layers;
        m_builder.segment().isLayer = true;
        x = serialBlock(x);
        m_builder.segment().carryOut = x;
        m_builder.begin("decoder embed", m_model.weightPrefix, x);
        if (m_model.norm.last)
            x = m_builder.norm("norm", x, "encoder out");
        m_builder.use(m_model);
        return handedOn(m_builder.op("decoder_in", OpKind::Add, { embedded(), x }, { "decoder in" }), "decoder stream");
    }

    /// Of the tokens, with what the model at hand adds to it.
    TensorId embedded()
    {
        const ModelSpec& model = m_builder.model();
        const TensorId tokens = m_tokens;
        TensorId x = m_builder.op("embed_tokens", OpKind::Embedding, { tokens, m_table }, { "embedding", { "hidden" } });
        if (m_model.scaling.embedding != 1) {
            OpAttributes scale;
            scale.scale = m_model.scaling.embedding;
            x = m_builder.op("embedding_scale", OpKind::Scale, { x }, { "embedding scaled" }, scale);
        }
        if (m_model.tokenTypes > 0) {
            const TensorId types = m_builder.add("token_types", TensorRole::Input, { m_builder.batch(), m_builder.newTokens() },
                                                 { "batch", "sequence" }, DType::I32);
            m_builder.entry(types).spec.logicalNames = m_builder.tensor(tokens).logicalNames;
            const TensorId rows = m_builder.weight("token_type_embeddings.weight", { m_model.tokenTypes, m_model.hiddenSize },
                                                   { "kinds of tokens", "hidden" }, { 0.0, 1.0 }, { "", "embed_vocab" });
            const TensorId kinds =
                m_builder.op("token_type_embeddings", OpKind::Embedding, { types, rows }, { "kinds", { "hidden" } });
            x = m_builder.op("add_token_types", OpKind::Add, { x, kinds }, { "embedding with kinds" });
        }
        if (model.positions > 0) {
            const TensorId rows = m_builder.weight("embed_positions.weight", { model.positions, m_model.hiddenSize },
                                                   { "positions", "hidden" }, { 0.0, 1.0 }, { "", "embed_vocab" });
            OpAttributes attributes;
            attributes.first = m_model.firstPosition + m_builder.position();
            x = m_builder.op("embed_positions", OpKind::AddPositions, { x, rows }, { "embedding with positions" }, attributes);
        }
        if (m_model.embeddingNorm)
            x = m_builder.norm("embedding_norm", x, "embedding normed");
        return x;
    }

    /// `block`, or where layers differ `dense block`, `moe block`; with the layers where several segments are of one kind.
    std::string blockName(std::int64_t first, std::int64_t end) const
    {
        if (const std::string& pattern = m_model.block.pattern; !pattern.empty()) {
            const LayerParts parts = m_model.partsOf(first);
            const std::string mixer = parts.attention && parts.recurrent ? "attention and recurrent "
                : parts.cross                                            ? "cross attention "
                : parts.sharedKeys && parts.other                        ? "other attention of shared keys "
                : parts.sharedKeys                                       ? "attention of shared keys "
                : parts.other                                            ? "other attention "
                : parts.attention                                        ? "attention "
                : parts.recurrent                                        ? "recurrent "
                                                                         : "";
            const std::string what = parts.experts && m_model.denseLayers() > 0 ? "moe " : "";
            return mixer + what + (parts.feedForward || parts.experts ? "" : "alone ") + "block " + std::to_string(first)
                + (end - first == 1 ? std::string() : "-" + std::to_string(end - 1));
        }
        const bool sparse = m_model.isSparse(first);
        const bool inTurn = m_model.moe.present() && m_model.moe.every > 1;
        const std::int64_t firstOfKind = sparse ? m_model.moe.firstDense : 0;
        const std::int64_t endOfKind = sparse || !m_model.moe.present() ? m_model.layers : m_model.moe.firstDense;
        const std::string kind = m_model.moe.present() ? (sparse ? "moe block" : "dense block") : "block";
        if (first == firstOfKind && end == endOfKind && !inTurn)
            return kind;
        return kind + " " + std::to_string(first) + (end - first == 1 ? std::string() : "-" + std::to_string(end - 1));
    }

    TensorId block(TensorId x, std::int64_t first, std::int64_t end)
    {
        m_parts = m_model.partsOf(first);
        m_builder.use(m_parts.sharedKeys ? (m_parts.other ? m_otherShared : m_shared) : m_parts.other ? m_other : m_model);
        m_builder.begin(blockName(first, end), m_model.weightPrefix + m_model.nameOf("layers") + ".*.", x);
        m_builder.segment().firstLayer = first;
        m_builder.segment().count = end - first;
        m_builder.segment().isLayer = true;
        const TensorId y = layer(x);
        m_builder.segment().carryOut = y;
        m_builder.use(m_model);
        return y;
    }

    /// A dense MLP and experts, each between norms of its own; the router reads the stream behind a norm of its own, too.
    TensorId bothFeedForwards(TensorId x)
    {
        TensorId dense = mlpPart(m_builder, m_builder.norm("pre_feedforward_layernorm", x, "mlp in"));
        dense = m_builder.norm("post_feedforward_layernorm_1", dense, "dense out normed");
        TensorId scored = m_builder.norm("mlp.gate.scale", x, "router in normed");
        scored =
            m_builder.scaled("mlp.gate.input_scale", scored, 1 / std::sqrt(static_cast<double>(m_model.hiddenSize)), "router in");
        TensorId routed = expertsPart(m_builder, m_builder.norm("pre_feedforward_layernorm_2", x, "experts in"), scored);
        routed = m_builder.norm("post_feedforward_layernorm_2", routed, "experts out normed");
        return m_builder.op("mlp.both", OpKind::Add, { dense, routed }, { "both mlps out" });
    }

    TensorId feedForward(TensorId x) { return m_parts.experts ? expertsPart(m_builder, x) : mlpPart(m_builder, x); }

    TensorId layer(TensorId x)
    {
        const bool mixes = m_parts.attention || m_parts.recurrent;
        const TensorId y = !mixes || !m_parts.feedForward ? single(x, mixes)
            : m_model.block.parallel                      ? parallelBlock(x)
                                                          : serialBlock(x);
        return m_model.layerInput.present()
            ? m_builder.op("layer_input.residual", OpKind::Add, { y, layerInputPart(m_builder, m_tokens, y, x) },
                           { "layer out with its input" })
            : y;
    }

    /// Attention, the recurrent part, or both side by side.
    TensorId mixer(TensorId x)
    {
        if (m_parts.cross)
            return crossAttentionPart(m_builder, x, x);
        if (!m_parts.recurrent)
            return attentionPart(m_builder, x);
        const TensorId recurrent = recurrentPart(m_builder, x);
        return m_parts.attention
            ? m_builder.op("mixer.sum", OpKind::Add, { attentionPart(m_builder, x), recurrent }, { "both mixers out" })
            : recurrent;
    }

    /// A layer with one part alone.
    TensorId single(TensorId x, bool mixes)
    {
        const TensorId normed = m_builder.norm("input_layernorm", x, mixes ? "attention in" : "mlp in");
        TensorId y = mixes ? mixer(normed) : feedForward(normed);
        y = m_builder.scaled("residual_scale", y, m_model.scaling.residual, "part out scaled");
        return m_builder.op("residual", OpKind::Add, { x, y }, { "layer out" });
    }

    /// The stream itself is normed behind each sum.
    TensorId normedSums(TensorId x)
    {
        const TensorId sum = m_builder.op("self_attn.residual", OpKind::Add, { x, mixer(x) }, { "residual" });
        TensorId middle = m_builder.norm("post_attention_layernorm", sum, "residual normed");
        if (m_builder.model().encoder.present()) {
            const TensorId crossed = m_builder.op("cross_attn.residual", OpKind::Add,
                                                  { middle, crossAttentionPart(m_builder, middle, middle) }, { "cross residual" });
            middle = m_builder.norm("post_cross_layernorm", crossed, "cross residual normed");
        }
        const TensorId all = m_builder.op("mlp.residual", OpKind::Add, { middle, feedForward(middle) }, { "layer sum" });
        return m_builder.norm("post_feedforward_layernorm", all, "layer out");
    }

    TensorId serialBlock(TensorId x)
    {
        if (m_model.norm.ofSum)
            return normedSums(x);
        const bool four = m_model.norm.perLayer == 4;
        const bool after = m_model.norm.after;
        const TensorId in = after || !m_parts.normed ? x : m_builder.norm("input_layernorm", x, "attention in");
        TensorId attention = mixer(in);
        if (four || after)
            attention = m_builder.norm("post_attention_layernorm", attention, "attention out normed");
        attention = m_builder.scaled("self_attn.residual_scale", attention, m_model.scaling.residual, "attention out scaled");
        TensorId middle =
            m_builder.op("self_attn.residual", OpKind::Add, { around("self_attn.", x, in), attention }, { "residual" });
        if (m_model.besideRank > 0)
            middle = withThinProducts(middle, in);
        if (m_builder.model().encoder.present()) {
            const TensorId cross = m_builder.norm("post_cross_layernorm", middle, "cross attention in");
            middle = m_builder.op("cross_attn.residual", OpKind::Add, { middle, crossAttentionPart(m_builder, cross, cross) },
                                  { "cross residual" });
        }
        const std::string before = four ? "pre_feedforward_layernorm" : "post_attention_layernorm";
        const bool both = m_parts.experts && m_model.moe.besideMlp;
        const TensorId mlpIn = both || after ? middle : m_builder.norm(before, middle, "mlp in");
        TensorId mlp = both ? bothFeedForwards(middle) : feedForward(mlpIn);
        if (four || after)
            mlp = m_builder.norm("post_feedforward_layernorm", mlp, "mlp out normed");
        mlp = m_builder.scaled("mlp.residual_scale", mlp, m_model.scaling.residual, "mlp out scaled");
        return m_builder.op("mlp.residual", OpKind::Add, { around("mlp.", middle, mlpIn), mlp }, { "layer out" });
    }

    /// What goes around a part that reads `in`, the norm of the stream `x`.
    TensorId around(const std::string& prefix, TensorId x, TensorId in)
    {
        return m_model.norm.around ? m_builder.scaled(prefix + "around_scale", in, m_model.scaling.around, prefix + "around scaled")
                                   : x;
    }

    /// LAuReL (arXiv 2411.07501) of Gemma 3n: what attention read goes through two thin products, and is averaged with the stream.
    TensorId withThinProducts(TensorId middle, TensorId in)
    {
        const GraphBuilder::Side rank { m_model.besideRank, "laurel rank", "" };
        const TensorId low = m_builder.linear("laurel.linear_left", in, rank, m_builder.hiddenSide(), false, "laurel low");
        const TensorId wide = m_builder.linear("laurel.linear_right", low, m_builder.hiddenSide(), rank, false, "laurel wide");
        const TensorId beside = m_builder.op(
            "laurel.add", OpKind::Add, { in, m_builder.norm("laurel.post_laurel_norm", wide, "laurel normed") }, { "laurel out" });
        const TensorId sum = m_builder.op("laurel.residual", OpKind::Add, { middle, beside }, { "residual and laurel" });
        return m_builder.scaled("laurel.scale", sum, std::sqrt(0.5), "residual with laurel");
    }

    /// Both parts read the layer's input; their results are added before they meet the residual stream.
    TensorId parallelBlock(TensorId x)
    {
        const bool two = m_model.norm.perLayer == 2;
        const TensorId attentionIn = m_builder.norm(two ? "ln_attn" : "input_layernorm", x, two ? "attention in" : "block in");
        const TensorId mlpIn = two ? m_builder.norm("ln_mlp", x, "mlp in") : attentionIn;
        const TensorId attention = mixer(attentionIn);
        TensorId both = m_builder.op("block.sum", OpKind::Add, { attention, feedForward(mlpIn) }, { "block out" });
        both = m_builder.scaled("block.residual_scale", both, m_model.scaling.residual, "block out scaled");
        return m_builder.op("block.residual", OpKind::Add, { x, both }, { "layer out" });
    }

    void head(TensorId x)
    {
        m_builder.begin("head", m_model.weightPrefix, x);
        if (m_lastLogits && m_builder.newTokens() > 1) // what is said of the sequence does not hold for it
            x = m_builder.op("last_token", OpKind::LastToken, { x }, { "last token", { "last token", "hidden" } });
        m_logitsTable = m_model.tiedEmbeddings
            ? m_table
            : m_builder.weightAt(headName("weight"), { m_model.vocabSize, m_model.hiddenSize },
                                 { "out (vocabulary)", "in (hidden)" },
                                 { 0.0, 1.0 / std::sqrt(static_cast<double>(m_model.hiddenSize)) }, { "vocab", "embed_vocab" });
        if (m_model.headBias)
            m_headBias =
                m_builder.weightAt(headName("bias"), { m_model.vocabSize }, { "out (vocabulary)" }, { 0.0, 0.1 }, { "vocab" });
        if (m_train)
            m_targets = m_builder.add("targets", TensorRole::Input, { m_builder.batch(), m_builder.newTokens() },
                                      { "batch", "sequence" }, DType::I32);
        TensorId deeper = x;
        for (std::int64_t i = 0; i < m_predicted; ++i)
            deeper = furtherToken(deeper, i);
        m_builder.nest({}, m_model.weightPrefix);
        TensorId last = m_model.norm.last ? m_builder.norm("norm", x, "head in") : x;
        if (m_model.headTransform) {
            m_builder.nest({}, {}); // it stands beside the model
            last = m_builder.linear("head_transform", last, { m_model.hiddenSize, "hidden", "" }, m_builder.hiddenSide(),
                                    m_model.norm.bias, "head transformed");
            last = m_builder.activation("head_transform.", "head", kNoTensor, last);
            last = m_builder.norm("head_transform_norm", last, "head normed");
        }
        const TensorId logits = logitsOf(last);
        m_builder.segment().carryOut =
            m_train ? loss(logits) : m_builder.op("output", OpKind::Output, { logits }, { "model output" });
    }

    TensorId logitsOf(TensorId normed)
    {
        TensorId logits = m_builder.op("lm_head", OpKind::Linear, { normed, m_logitsTable },
                                       { m_model.headBias ? "logits before bias" : "logits", { "vocabulary" } });
        if (m_model.headBias)
            logits = m_builder.op("lm_head.bias", OpKind::Add, { logits, m_headBias }, { "logits" });
        logits = m_builder.scaled("logit_scale", logits, m_model.scaling.logits, "logits scaled");
        if (m_model.scaling.logitSoftCap > 0) {
            OpAttributes cap;
            cap.cap = m_model.scaling.logitSoftCap;
            logits = m_builder.op("logit_cap", OpKind::SoftCap, { logits }, { "logits capped" }, cap);
        }
        return logits;
    }

    /// A module of multi-token prediction (DeepSeek-V3, arXiv 2412.19437, equations 21 to 25; names as in its checkpoint): what the
    /// layers gave, and the embedding of the next token, normed and joined, through a projection and one layer more; table and head
    /// are the model's. Its tokens and targets are those of `targets`, which in a real run are shifted by one more for every
    /// module. Its loss counts in full, where training has a factor.
    TensorId furtherToken(TensorId x, std::int64_t index)
    {
        const std::string number = std::to_string(index + 1);
        m_builder.nest("mtp" + number + ".", m_model.weightPrefix + "layers." + std::to_string(m_model.layers + index) + ".",
                       static_cast<int>(index) + 1);
        const TensorId embedded =
            m_builder.op("embed_tokens", OpKind::Embedding, { m_targets, m_table }, { "next token", { "hidden" } });
        const TensorId token = m_builder.norm("enorm", embedded, "next token normed");
        const TensorId both =
            m_builder.op("join", OpKind::JoinLast, { token, m_builder.norm("hnorm", x, "layers normed") }, { "both", { "both" } });
        const GraphBuilder::Side wide { 2 * m_model.hiddenSize, "both", "embed" };
        const TensorId joined = m_builder.linear("eh_proj", both, m_builder.hiddenSide(), wide, false, "mtp in");
        const TensorId y = layer(joined);
        loss(logitsOf(m_builder.norm("shared_head.norm", y, "mtp head in")));
        return y;
    }

    /// Cross-entropy of every token.
    TensorId loss(TensorId logits)
    {
        const auto inF32 = [&](const std::string& name, OpKind kind, std::vector<TensorId> operands, const std::string& result) {
            const TensorId id = m_builder.op(name, kind, std::move(operands), { result });
            m_builder.entry(id).spec.dtype = DType::F32;
            return id;
        };
        const TensorId largest = inF32("loss.max", OpKind::LogitMax, { logits }, "largest logit");
        const TensorId sum = inF32("loss.sum_exp", OpKind::SumExp, { logits, largest }, "sum of exponentials");
        const TensorId target = inF32("loss.target", OpKind::TargetLogit, { logits, m_targets }, "target logit");
        return inF32("loss", OpKind::TokenLoss, { largest, sum, target }, "token loss");
    }

    /// `model.embed_tokens` goes with `lm_head`, `language_model.model.embed_tokens` with `language_model.lm_head`, and
    /// `model.language_model.embed_tokens` with `lm_head`.
    std::string headName(const std::string& end) const
    {
        const std::string& prefix = m_model.weightPrefix;
        if (const auto own = m_model.names.find("lm_head"); own != m_model.names.end())
            return own->second + "." + end;
        const bool wrapped = prefix.ends_with(".model.");
        return (wrapped ? prefix.substr(0, prefix.size() - 6) : std::string()) + "lm_head." + end;
    }

    const ModelSpec& m_model;
    ModelSpec m_other; ///< of layers whose attention has other sizes
    ModelSpec m_shared, m_otherShared; ///< of layers that attend to keys of earlier ones
    ModelSpec m_encoder;
    GraphBuilder m_builder;
    LayerParts m_parts; ///< of the block that is being built
    bool m_train;
    bool m_lastLogits;
    std::int64_t m_predicted;
    TensorId m_tokens = kNoTensor;
    TensorId m_table = kNoTensor;
    TensorId m_logitsTable = kNoTensor;
    TensorId m_headBias = kNoTensor;
    TensorId m_targets = kNoTensor;
};

/// The key of the size that is most to blame where a model is too large.
std::string largestSize(const ModelSpec& model)
{
    const std::pair<const char*, std::int64_t> sizes[] = {
        { "vocab_size", model.vocabSize },
        { "hidden_size", model.hiddenSize },
        { "intermediate_size", model.intermediateSize },
        { "num_attention_heads", model.heads * model.headDim },
        { "num_experts", model.moe.experts },
        { "moe_intermediate_size", model.moe.intermediateSize },
        { "kv_lora_rank", model.mla.latentRank },
        { "q_lora_rank", model.mla.queryRank },
    };
    return std::max_element(std::begin(sizes), std::end(sizes), [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
}

/// Every size that the graph multiplies stays below 2^62 when these do.
Status checkSizes(const ModelSpec& model, const Workload& workload)
{
    const std::int64_t tokens = workload.batch * workload.sequence; // each at most 2^31
    const MoeSpec& moe = model.moe;
    const MlaSpec& mla = model.mla;
    std::int64_t widest = std::max(model.vocabSize, model.intermediateSize);
    widest = std::max({ widest, model.recurrent.innerSize() + model.recurrent.channels() + 2 * model.recurrent.heads,
                        model.indexer.heads * model.indexer.headDim, model.positions, model.tokenTypes });
    widest = std::max({ widest, model.moe.latentSize, model.tableRows, model.layerInput.rows, model.layerInput.width,
                        model.besideRank, model.sharedKeysSize, model.encoder.positions, model.encoder.intermediateSize });
    widest =
        std::max({ widest, model.hiddenSize, 2 * model.heads * model.headDim, (model.heads + 2 * model.kvHeads) * model.headDim,
                   model.heads * (mla.nopeHeadDim + mla.valueHeadDim), mla.latentRank + mla.ropeHeadDim, mla.queryRank });
    // Of a mixture the tensors of all experts together.
    const auto experts = checkedProduct(
        std::vector<std::int64_t> { moe.experts, std::max({ model.hiddenSize, 2 * moe.intermediateSize, moe.sharedExperts }) });
    if (!experts)
        return inputError(kModelPlace + std::string("num_experts"),
                          "the weights of " + std::to_string(moe.experts) + " experts are too large to count",
                          "use fewer, or smaller sizes");
    widest = std::max(widest, *experts);
    const auto activation = checkedProduct(std::vector<std::int64_t> { tokens, widest, 16 });
    const auto layer = checkedProduct(std::vector<std::int64_t> { widest, std::max(widest, model.hiddenSize), 16 });
    if (!activation)
        return inputError("workload",
                          "batch " + std::to_string(workload.batch) + " times sequence " + std::to_string(workload.sequence)
                              + " makes tensors too large to count",
                          "use a smaller batch or sequence");
    if (!layer || !checkedMultiply(*layer, (model.layers + model.encoder.layers) * 16) || !modelSize(model))
        return inputError(kModelPlace + largestSize(model),
                          "the weights of " + std::to_string(model.layers) + " layers of this size are too large to count",
                          "use a smaller size, or fewer layers");
    return done();
}

} // namespace

Result<Graph> buildDecoder(const ModelSpec& model, const Workload& workload, const std::vector<std::int64_t>& splitBefore)
{
    const std::string where = model.source.empty() ? model.name : model.source;
    if (!model.hasGraph())
        return inputError(where, model.notUnderstood, "open it as weights");
    if (auto status = verifyModel(model, where); !status.ok())
        return status.error();
    if (auto status = verifyWorkload(workload, "workload"); !status.ok())
        return status.error();
    if (auto status = checkSizes(model, workload); !status.ok())
        return status.error();
    if (model.block.bothWays && workload.kind == WorkloadKind::Decode)
        return inputError("workload", "tokens of an encoder see those after them, so that it cannot decode one by one",
                          "use prefill or training");
    if (model.encoder.present() && workload.kind == WorkloadKind::Decode)
        return inputError("workload", "decoding behind an encoder, whose layers do not run then, is not understood yet",
                          "use prefill or training");
    if (model.encoder.positions > 0 && model.firstPosition + workload.sequence > model.encoder.positions)
        return inputError("workload",
                          "sequence " + std::to_string(workload.sequence) + " goes beyond the encoder's table of "
                              + std::to_string(model.encoder.positions - model.firstPosition) + " positions",
                          "use a shorter sequence");
    if (model.positions > 0 && model.firstPosition + workload.sequence > model.positions)
        return inputError("workload",
                          "sequence " + std::to_string(workload.sequence) + " goes beyond the model's table of "
                              + std::to_string(model.positions - model.firstPosition) + " positions",
                          "use a shorter sequence");
    return DecoderBuilder(model, workload).build(splitBefore);
}

} // namespace shardboard
