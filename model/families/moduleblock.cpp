// SPDX-License-Identifier: Apache-2.0
#include "model/families/moduleblock.h"

#include "model/core/checked.h"
#include "model/families/buildgraph.h"
#include "model/families/decoder.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

using Names = std::vector<std::string>;

class LinearBuilder {
public:
    LinearBuilder(const ModelSpec& model, const Workload& workload)
        : m_linear(model.linear)
        , m_dtype(storageType(workload))
        , m_rows { workload.batch, workload.kind == WorkloadKind::Decode ? 1 : workload.sequence }
        , m_input(inputName(model))
    {
        m_graph.segments.emplace_back();
        m_graph.segments.back().name = "linear";
    }

    Graph build()
    {
        const TensorId x = input();
        if (m_weight == kNoTensor)
            m_weight = weight("linear.weight", { m_linear.outDim, m_linear.inDim }, { "out", "in" }, { "mlp", "embed" },
                              { 0.0, 1.0 / std::sqrt(static_cast<double>(m_linear.inDim)) });
        TensorId y =
            op("linear", OpKind::Linear, { x, m_weight }, m_linear.hasBias ? "y before bias" : "y", m_linear.outDim, "out");
        if (m_linear.hasBias) {
            const TensorId bias = weight("linear.bias", { m_linear.outDim }, { "out" }, { "mlp" }, { 0.0, 0.1 });
            y = op("bias", OpKind::Add, { y, bias }, "y", m_linear.outDim, "out");
        }
        m_graph.segments.back().carryOut = op("gather", OpKind::GatherLast, { y }, "module output", m_linear.outDim, "out");
        return std::move(m_graph);
    }

private:
    TensorId add(const std::string& name, TensorRole role, Shape shape, Names labels, DType dtype, Fill fill = {})
    {
        GraphTensor tensor;
        tensor.spec = { name, std::move(shape), dtype, role, std::move(labels), {}, {} };
        tensor.fill = fill;
        m_graph.tensors.push_back(std::move(tensor));
        return lastId(m_graph.tensors);
    }

    TensorId weight(const std::string& name, Shape shape, Names labels, Names logical, Fill fill)
    {
        const TensorId id = add(name, TensorRole::Weight, std::move(shape), std::move(labels), m_dtype, fill);
        m_graph.tensors.back().spec.logicalNames = std::move(logical);
        return id;
    }

    /// An operation whose result is [B, S, last].
    TensorId op(const std::string& name, OpKind kind, std::vector<TensorId> operands, const std::string& result, std::int64_t last,
                const std::string& label)
    {
        Shape shape = m_rows;
        shape.push_back(last);
        const TensorId id = add(result, TensorRole::Activation, std::move(shape), { "batch", "sequence", label }, m_dtype);
        m_graph.ops.push_back({ name, kind, std::move(operands), id, {} });
        m_graph.segments.back().ops.push_back(lastId(m_graph.ops));
        return id;
    }

    TensorId input()
    {
        if (!m_linear.tiedWeight) {
            const TensorId x =
                add(m_input, TensorRole::Input, { m_rows[0], m_rows[1], m_linear.inDim }, { "batch", "sequence", "in" }, m_dtype);
            m_graph.tensors.back().spec.logicalNames = { "activation_batch", "activation_norm_length", "activation_embed" };
            return x;
        }
        const TensorId tokens = add(m_input, TensorRole::Input, m_rows, { "batch", "sequence" }, DType::I32);
        m_graph.tensors.back().spec.logicalNames = { "activation_embed_and_logits_batch", "activation_norm_length" };
        m_weight = weight("embed_tokens.weight", { m_linear.outDim, m_linear.inDim }, { "out (vocabulary)", "in (hidden)" },
                          { "vocab", "embed_vocab" }, { 0.0, 1.0 });
        const TensorId rows = op("embed_tokens", OpKind::Embedding, { tokens, m_weight }, "embedding", m_linear.inDim, "in");
        return op("embedded", OpKind::Output, { rows }, "x", m_linear.inDim, "in");
    }

    LinearModule m_linear;
    DType m_dtype;
    Shape m_rows; ///< B, S
    std::string m_input;
    TensorId m_weight = kNoTensor;
    Graph m_graph;
};

/// Every size that the graph multiplies stays below 2^62 when these do.
Status checkSizes(const LinearModule& linear, const Workload& workload)
{
    const std::int64_t widest = std::max(linear.inDim, linear.outDim);
    if (!checkedProduct(std::vector<std::int64_t> { workload.batch, workload.sequence, widest, 16 }))
        return inputError("workload",
                          "batch " + std::to_string(workload.batch) + " times sequence " + std::to_string(workload.sequence)
                              + " makes tensors too large to count",
                          "use a smaller batch or sequence");
    if (!checkedProduct(std::vector<std::int64_t> { linear.inDim, linear.outDim, 16 }))
        return inputError(kModelPlace + std::string(linear.inDim > linear.outDim ? "in_dim" : "out_dim"),
                          "the weight is too large to count", "use a smaller size");
    return done();
}

} // namespace

Result<Graph> buildColumnParallelLinear(const ModelSpec& model, const Workload& workload)
{
    const std::string where = model.source.empty() ? model.name : model.source;
    if (auto status = verifyModel(model, where); !status.ok())
        return status.error();
    if (auto status = verifyWorkload(workload, "workload"); !status.ok())
        return status.error();
    if (auto status = checkSizes(model.linear, workload); !status.ok())
        return status.error();
    return LinearBuilder(model, workload).build();
}

} // namespace shardboard
