// SPDX-License-Identifier: Apache-2.0
#include "model/graph/decoder.h"

#include "model/core/checked.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

using Labels = std::vector<std::string>;

/// Adds tensors and operations in program order; the names of weights are those of a Hugging Face checkpoint.
class DecoderBuilder {
public:
    DecoderBuilder(const ModelSpec& model, const Workload& workload)
        : m_model(model)
        , m_dtype(workload.dtype)
        , m_batch(workload.batch / workload.microBatches)
        , m_newTokens(workload.kind == WorkloadKind::Decode ? 1 : workload.sequence)
        , m_cachedTokens(workload.sequence)
        , m_decode(workload.kind == WorkloadKind::Decode)
        , m_train(workload.kind == WorkloadKind::Train)
    {
    }

    Graph build(const std::vector<std::int64_t>& splitBefore)
    {
        TensorId hidden = embed();
        std::vector<std::int64_t> bounds { 0 };
        bounds.insert(bounds.end(), splitBefore.begin(), splitBefore.end());
        bounds.push_back(m_model.layers);
        for (std::size_t i = 0; i + 1 < bounds.size(); ++i)
            hidden = block(hidden, bounds[i], bounds[i + 1] - bounds[i], bounds.size() == 2);
        head(hidden);
        return std::move(m_graph);
    }

private:
    void begin(const std::string& name, std::int64_t firstLayer, std::int64_t count, bool isLayer, TensorId carryIn)
    {
        Segment segment;
        segment.name = name;
        segment.firstLayer = firstLayer;
        segment.count = count;
        segment.isLayer = isLayer;
        segment.carryIn = carryIn;
        m_graph.segments.push_back(std::move(segment));
    }

    TensorId add(const std::string& name, TensorRole role, Shape shape, Labels labels, DType dtype, Fill fill = {})
    {
        GraphTensor tensor;
        tensor.spec = { name, std::move(shape), dtype, role, std::move(labels), {}, {} };
        tensor.fill = fill;
        tensor.segment = static_cast<int>(m_graph.segments.size()) - 1;
        tensor.copies = role == TensorRole::Weight ? m_graph.segments.back().count : 1;
        m_graph.tensors.push_back(std::move(tensor));
        return static_cast<TensorId>(m_graph.tensors.size()) - 1;
    }

    /// `logical` are the names that MaxText's rules have for these dims.
    TensorId weight(const std::string& name, Shape shape, Labels labels, Fill fill, Labels logical)
    {
        const TensorId id = add(name, TensorRole::Weight, std::move(shape), std::move(labels), m_dtype, fill);
        m_graph.tensors.back().spec.logicalNames = std::move(logical);
        return id;
    }

    /// Dim `dim` of a tensor is made of heads, which belong together.
    void inHeads(TensorId id, std::size_t dim)
    {
        TensorSpec& spec = m_graph.tensors[static_cast<std::size_t>(id)].spec;
        spec.grains.assign(spec.shape.size(), 1);
        spec.grains[dim] = m_model.headDim;
    }

    TensorId op(const std::string& name, OpKind kind, std::vector<TensorId> operands, const std::string& result, Shape shape,
                Labels labels, OpAttributes attributes = {})
    {
        const TensorId id = add(result, TensorRole::Activation, std::move(shape), std::move(labels), m_dtype);
        m_graph.ops.push_back({ name, kind, std::move(operands), id, attributes });
        m_graph.segments.back().ops.push_back(static_cast<OpId>(m_graph.ops.size()) - 1);
        return id;
    }

    /// An operation whose result looks like its first operand.
    TensorId like(const std::string& name, OpKind kind, std::vector<TensorId> operands, const std::string& result,
                  OpAttributes attributes = {})
    {
        const TensorSpec spec = m_graph.tensor(operands.front());
        return op(name, kind, std::move(operands), result, spec.shape, spec.dimLabels, attributes);
    }

    TensorId norm(const std::string& name, const std::string& weightName, TensorId x, std::int64_t size,
                  const std::string& label, const std::string& result)
    {
        OpAttributes attributes;
        attributes.epsilon = m_model.norm.epsilon;
        const TensorId gamma = weight(weightName + ".weight", { size }, { label }, { 1.0, 0.1 }, { "norm" });
        return like(name, OpKind::RmsNorm, { x, gamma }, result, attributes);
    }

    /// One side of a linear layer: its size, what it means, its logical name, and whether it is made of heads.
    struct Side {
        std::int64_t size;
        std::string label;
        std::string logical;
        bool heads = false;
    };
    Side hiddenSide() const { return { m_model.hiddenSize, "hidden", "embed" }; }

    /// y = x Wt (+ bias); `name` is both the operation and, with the layer prefix, the weight.
    TensorId linear(const std::string& name, TensorId x, const Side& out, const Side& in, bool bias, const std::string& result)
    {
        const TensorId w = weight(m_layerPrefix + name + ".weight", { out.size, in.size },
                                  { "out (" + out.label + ")", "in (" + in.label + ")" },
                                  { 0.0, 1.0 / std::sqrt(static_cast<double>(in.size)) }, { out.logical, in.logical });
        if (out.heads || in.heads)
            inHeads(w, out.heads ? 0 : 1);
        const TensorId y = op(name, OpKind::Linear, { x, w }, bias ? result + " before bias" : result,
                              { m_batch, m_newTokens, out.size }, { "batch", "sequence", out.label });
        if (out.heads)
            inHeads(y, 2);
        if (!bias)
            return y;
        const TensorId b = weight(m_layerPrefix + name + ".bias", { out.size }, { "out (" + out.label + ")" }, { 0.0, 0.1 },
                                  { out.logical });
        const TensorId sum = like(name + ".bias", OpKind::Add, { y, b }, result);
        if (out.heads) {
            inHeads(b, 0);
            inHeads(sum, 2);
        }
        return sum;
    }

    TensorId embed()
    {
        begin("embed", 0, 1, false, kNoTensor);
        const TensorId tokens = add("tokens", TensorRole::Input, { m_batch, m_newTokens }, { "batch", "sequence" }, DType::I32);
        m_graph.tensors.back().spec.logicalNames = { "activation_embed_and_logits_batch", "activation_norm_length" };
        m_table = weight(m_model.weightPrefix + "embed_tokens.weight", { m_model.vocabSize, m_model.hiddenSize },
                         { "vocabulary", "hidden" }, { 0.0, 1.0 }, { "vocab", "embed_vocab" });
        const TensorId x = op("embed_tokens", OpKind::Embedding, { tokens, m_table }, "embedding",
                              { m_batch, m_newTokens, m_model.hiddenSize }, { "batch", "sequence", "hidden" });
        const TensorId stream = like("residual_stream", OpKind::Output, { x }, "residual stream");
        m_graph.segments.back().carryOut = stream;
        return stream;
    }

    /// Splits into heads, normalises (Qwen3), rotates, and for decode appends to the cache.
    TensorId heads(const std::string& letter, TensorId x, std::int64_t count, const std::string& label, bool rotate, bool cached)
    {
        OpAttributes split;
        split.heads = count;
        TensorId y = op("self_attn." + letter + "_heads", OpKind::SplitHeads, { x }, letter + " heads",
                        { m_batch, m_newTokens, count, m_model.headDim }, { "batch", "sequence", label, "head dim" }, split);
        if (rotate && m_model.qkNorm)
            y = norm("self_attn." + letter + "_norm", m_layerPrefix + "self_attn." + letter + "_norm", y, m_model.headDim,
                     "head dim", letter + " normed");
        if (rotate) {
            OpAttributes rope;
            rope.ropeTheta = m_model.ropeTheta;
            rope.position = m_decode ? m_cachedTokens - 1 : 0;
            y = like("self_attn." + letter + "_rope", OpKind::Rope, { y }, letter + " rotated", rope);
        }
        if (cached && m_decode)
            y = op("self_attn." + letter + "_cache", OpKind::KvAppend, { y }, letter + " cache",
                   { m_batch, m_cachedTokens, count, m_model.headDim }, { "batch", "sequence", label, "head dim" });
        return y;
    }

    TensorId attention(TensorId x)
    {
        const std::int64_t qSize = m_model.heads * m_model.headDim;
        const std::int64_t kvSize = m_model.kvHeads * m_model.headDim;
        const bool qkvBias = m_model.attentionBias != AttentionBias::None;
        const bool oBias = m_model.attentionBias == AttentionBias::Qkvo;
        const Side kv { kvSize, "KV heads x head dim", "kv_heads", true };
        TensorId q = linear("self_attn.q_proj", x, { qSize, "heads x head dim", "q_heads", true }, hiddenSide(), qkvBias, "q");
        TensorId k = linear("self_attn.k_proj", x, kv, hiddenSide(), qkvBias, "k");
        TensorId v = linear("self_attn.v_proj", x, kv, hiddenSide(), qkvBias, "v");
        q = heads("q", q, m_model.heads, "heads", true, false);
        k = heads("k", k, m_model.kvHeads, "KV heads", true, true);
        v = heads("v", v, m_model.kvHeads, "KV heads", false, true);
        const TensorId values = like("self_attn.attention", OpKind::Attention, { q, k, v }, "attention heads");
        OpAttributes merge;
        merge.heads = m_model.heads;
        const TensorId merged = op("self_attn.merge_heads", OpKind::MergeHeads, { values }, "attention values",
                                   { m_batch, m_newTokens, qSize }, { "batch", "sequence", "heads x head dim" }, merge);
        inHeads(merged, 2);
        return linear("self_attn.o_proj", merged, hiddenSide(), { qSize, "heads x head dim", "heads", true }, oBias,
                      "attention out");
    }

    TensorId mlp(TensorId x)
    {
        const Side inner { m_model.intermediateSize, "intermediate", "mlp" };
        const TensorId gate = linear("mlp.gate_proj", x, inner, hiddenSide(), m_model.mlpBias, "mlp gate");
        const TensorId up = linear("mlp.up_proj", x, inner, hiddenSide(), m_model.mlpBias, "mlp up");
        const TensorId active = like("mlp.act", m_model.activation.starts_with("gelu") ? OpKind::Gelu : OpKind::Silu, { gate },
                                     "mlp gate active");
        const TensorId inside = like("mlp.mul", OpKind::Mul, { active, up }, "mlp hidden");
        return linear("mlp.down_proj", inside, hiddenSide(), inner, m_model.mlpBias, "mlp out");
    }

    TensorId block(TensorId x, std::int64_t first, std::int64_t count, bool only)
    {
        const std::int64_t last = first + count - 1;
        const std::string range = count == 1 ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
        begin(only ? "block" : "block " + range, first, count, true, x);
        m_layerPrefix = m_model.weightPrefix + "layers.*.";
        const TensorId normed = norm("input_layernorm", m_layerPrefix + "input_layernorm", x, m_model.hiddenSize, "hidden",
                                     "attention in");
        const TensorId middle = like("self_attn.residual", OpKind::Add, { x, attention(normed) }, "residual");
        const TensorId normed2 = norm("post_attention_layernorm", m_layerPrefix + "post_attention_layernorm", middle,
                                      m_model.hiddenSize, "hidden", "mlp in");
        const TensorId y = like("mlp.residual", OpKind::Add, { middle, mlp(normed2) }, "layer out");
        m_graph.segments.back().carryOut = y;
        return y;
    }

    void head(TensorId x)
    {
        begin("head", 0, 1, false, x);
        m_layerPrefix.clear();
        const TensorId normed = norm("norm", m_model.weightPrefix + "norm", x, m_model.hiddenSize, "hidden", "head in");
        const Shape shape { m_batch, m_newTokens, m_model.vocabSize };
        const Labels labels { "batch", "sequence", "vocabulary" };
        const TensorId table = m_model.tiedEmbeddings
            ? m_table
            : weight(headName(), { m_model.vocabSize, m_model.hiddenSize }, { "out (vocabulary)", "in (hidden)" },
                     { 0.0, 1.0 / std::sqrt(static_cast<double>(m_model.hiddenSize)) }, { "vocab", "embed_vocab" });
        const TensorId logits = op("lm_head", OpKind::Linear, { normed, table }, "logits", shape, labels);
        m_graph.segments.back().carryOut
            = m_train ? loss(logits) : like("output", OpKind::Output, { logits }, "model output");
    }

    /// Cross-entropy of every token.
    TensorId loss(TensorId logits)
    {
        const Labels labels { "batch", "sequence" };
        const Shape shape { m_batch, m_newTokens };
        const TensorId targets = add("targets", TensorRole::Input, shape, labels, DType::I32);
        const auto inF32 = [&](const std::string& name, OpKind kind, std::vector<TensorId> operands, const std::string& result) {
            const TensorId id = op(name, kind, std::move(operands), result, shape, labels);
            m_graph.tensors[static_cast<std::size_t>(id)].spec.dtype = DType::F32;
            return id;
        };
        const TensorId largest = inF32("loss.max", OpKind::LogitMax, { logits }, "largest logit");
        const TensorId sum = inF32("loss.sum_exp", OpKind::SumExp, { logits, largest }, "sum of exponentials");
        const TensorId target = inF32("loss.target", OpKind::TargetLogit, { logits, targets }, "target logit");
        return inF32("loss", OpKind::TokenLoss, { largest, sum, target }, "token loss");
    }

    /// `model.embed_tokens` goes with `lm_head`, `language_model.model.embed_tokens` with `language_model.lm_head`, and
    /// `model.language_model.embed_tokens` with `lm_head`.
    std::string headName() const
    {
        const std::string& prefix = m_model.weightPrefix;
        const bool wrapped = prefix.ends_with(".model.");
        return (wrapped ? prefix.substr(0, prefix.size() - 6) : std::string()) + "lm_head.weight";
    }

    const ModelSpec& m_model;
    DType m_dtype;
    std::int64_t m_batch;
    std::int64_t m_newTokens;
    std::int64_t m_cachedTokens;
    bool m_decode;
    bool m_train;
    std::string m_layerPrefix;
    TensorId m_table = kNoTensor;
    Graph m_graph;
};

/// Every size that the graph multiplies stays below 2^62 when these do.
Status checkSizes(const ModelSpec& model, const Workload& workload)
{
    const std::int64_t tokens = workload.batch * workload.sequence; // each at most 2^31
    std::int64_t widest = std::max(model.vocabSize, model.intermediateSize);
    widest = std::max({ widest, model.hiddenSize, model.heads * model.headDim });
    const auto activation = checkedProduct(std::vector<std::int64_t> { tokens, widest, 16 });
    const auto layer = checkedProduct(std::vector<std::int64_t> { widest, std::max(widest, model.hiddenSize), 16 });
    if (!activation)
        return inputError("workload", "batch " + std::to_string(workload.batch) + " times sequence "
                              + std::to_string(workload.sequence) + " makes tensors too large to count",
                          "use a smaller batch or sequence");
    if (!layer || !checkedMultiply(*layer, model.layers * 16))
        return inputError(model.source.empty() ? model.name : model.source, "the model's weights are too large to count",
                          "use smaller sizes");
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
    return DecoderBuilder(model, workload).build(splitBefore);
}

} // namespace shardboard
