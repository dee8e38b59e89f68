// SPDX-License-Identifier: Apache-2.0
#include "model/families/graphbuilder.h"
#include "model/families/activation.h"

#include <cmath>
#include <utility>

namespace shardboard {

GraphBuilder::GraphBuilder(const ModelSpec& model, const Workload& workload)
    : m_model(model)
    , m_dtype(storageType(workload))
    , m_batch(workload.batch / effective(workload).microBatches)
    , m_newTokens(workload.kind == WorkloadKind::Decode ? 1 : workload.sequence)
    , m_cachedTokens(workload.sequence)
    , m_decode(workload.kind == WorkloadKind::Decode)
    , m_unfusedAttention(workload.attention == AttentionKernel::Unfused)
    , m_scoresAgain(m_unfusedAttention && workload.kind == WorkloadKind::Train && workload.recompute == Recompute::Selective)
{
}

void GraphBuilder::begin(const std::string& name, const std::string& weightPrefix, TensorId carryIn)
{
    Segment segment;
    segment.name = name;
    segment.carryIn = carryIn;
    m_graph.segments.push_back(std::move(segment));
    m_prefix = weightPrefix;
}

TensorId GraphBuilder::add(const std::string& name, TensorRole role, Shape shape, Labels labels, DType dtype, Fill fill)
{
    GraphTensor tensor;
    tensor.spec = { name, std::move(shape), dtype, role, std::move(labels), {}, {} };
    tensor.fill = fill;
    tensor.segment = lastId(m_graph.segments);
    tensor.copies = role == TensorRole::Weight ? m_graph.segments.back().count : 1;
    m_graph.tensors.push_back(std::move(tensor));
    return lastId(m_graph.tensors);
}

TensorId GraphBuilder::weight(const std::string& name, Shape shape, Labels labels, Fill fill, Labels logical)
{
    return weightAt(m_prefix + name, std::move(shape), std::move(labels), fill, std::move(logical));
}

TensorId GraphBuilder::weightAt(const std::string& wholeName, Shape shape, Labels labels, Fill fill, Labels logical)
{
    const TensorId id = add(wholeName, TensorRole::Weight, std::move(shape), std::move(labels), m_dtype, fill);
    m_graph.tensors.back().spec.logicalNames = std::move(logical);
    return id;
}

TensorId GraphBuilder::op(const std::string& name, OpKind kind, std::vector<TensorId> operands, Made result,
                          const OpAttributes& attributes)
{
    const TensorId id = add(result.name, TensorRole::Activation, std::move(result.shape), std::move(result.labels), m_dtype);
    m_graph.ops.push_back({ name, kind, std::move(operands), id, attributes });
    m_graph.segments.back().ops.push_back(lastId(m_graph.ops));
    return id;
}

TensorId GraphBuilder::like(const std::string& name, OpKind kind, std::vector<TensorId> operands, const std::string& result,
                            const OpAttributes& attributes)
{
    const GraphTensor first = entry(operands.front());
    const TensorId id = op(name, kind, std::move(operands), { result, first.spec.shape, first.spec.dimLabels }, attributes);
    entry(id).density = first.density;
    return id;
}

TensorId GraphBuilder::slice(const std::string& name, TensorId x, std::int64_t first, std::int64_t size, const std::string& label,
                             const std::string& result)
{
    OpAttributes attributes;
    attributes.first = first;
    Shape shape = tensor(x).shape;
    Labels labels = tensor(x).dimLabels;
    shape.back() = size;
    labels.back() = label;
    return op(name, OpKind::SliceLast, { x }, { result, std::move(shape), std::move(labels) }, attributes);
}

void GraphBuilder::inUnits(TensorId id, std::size_t dim, std::int64_t elements)
{
    TensorSpec& spec = entry(id).spec;
    spec.grains.assign(spec.shape.size(), 1);
    spec.grains[dim] = elements;
}

TensorId GraphBuilder::linear(const std::string& name, TensorId x, const Side& out, const Side& in, bool bias,
                              const std::string& result)
{
    const TensorId w = weight(name + ".weight", { out.size, in.size }, { "out (" + out.label + ")", "in (" + in.label + ")" },
                              { 0.0, 1.0 / std::sqrt(static_cast<double>(in.size)) }, { out.logical, in.logical });
    if (out.unit > 0 || in.unit > 0)
        inUnits(w, out.unit > 0 ? 0 : 1, out.unit > 0 ? out.unit : in.unit);
    Shape shape = tensor(x).shape;
    Labels labels = tensor(x).dimLabels;
    shape.back() = out.size;
    labels.back() = out.label;
    const TensorId y =
        op(name, OpKind::Linear, { x, w }, { bias ? result + " before bias" : result, std::move(shape), std::move(labels) });
    if (out.unit > 0)
        inUnits(y, 2, out.unit);
    if (!bias)
        return y;
    const TensorId b = weight(name + ".bias", { out.size }, { "out (" + out.label + ")" }, { 0.0, 0.1 }, { out.logical });
    const TensorId sum = like(name + ".bias", OpKind::Add, { y, b }, result);
    if (out.unit > 0) {
        inUnits(b, 0, out.unit);
        inUnits(sum, 2, out.unit);
    }
    return sum;
}

TensorId GraphBuilder::norm(const std::string& name, TensorId x, const std::string& result)
{
    if (m_model.norm.kind == NormKind::RmsNorm)
        return rmsNorm(name, x, "hidden", result);
    OpAttributes attributes;
    attributes.epsilon = m_model.norm.epsilon;
    const std::int64_t size = tensor(x).shape.back();
    const TensorId gamma = weight(name + ".weight", { size }, { "hidden" }, { 1.0, 0.1 }, { "norm" });
    const TensorId beta = weight(name + ".bias", { size }, { "hidden" }, { 0.0, 0.1 }, { "norm" });
    return like(name, OpKind::LayerNorm, { x, gamma, beta }, result, attributes);
}

TensorId GraphBuilder::rmsNorm(const std::string& name, TensorId x, const std::string& label, const std::string& result)
{
    OpAttributes attributes;
    attributes.epsilon = m_model.norm.epsilon;
    attributes.offset = m_model.norm.weightOffset;
    const TensorId gamma =
        weight(name + ".weight", { tensor(x).shape.back() }, { label }, { 1.0 - attributes.offset, 0.1 }, { "norm" });
    return like(name, OpKind::RmsNorm, { x, gamma }, result, attributes);
}

TensorId GraphBuilder::activation(const std::string& prefix, const std::string& what, TensorId gate, TensorId up)
{
    OpAttributes attributes;
    if (gate != kNoTensor && m_model.scaling.swigluLimit > 0) {
        attributes.cap = m_model.scaling.swigluLimit;
        return like(prefix + "swiglu", OpKind::ClampedSwiglu, { gate, up }, what + " hidden", attributes);
    }
    const Activation* known = findActivation(m_model.activation);
    const OpKind kind = known == nullptr ? OpKind::Silu : known->kind;
    if (gate == kNoTensor)
        return like(prefix + "act", kind, { up }, what + " hidden");
    const TensorId active = like(prefix + "act", kind, { gate }, what + " gate active");
    return like(prefix + "mul", OpKind::Mul, { active, up }, what + " hidden");
}

} // namespace shardboard
