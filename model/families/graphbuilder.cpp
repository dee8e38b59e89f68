// SPDX-License-Identifier: Apache-2.0
#include "model/families/graphbuilder.h"
#include "model/families/activation.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace shardboard {

GraphBuilder::GraphBuilder(const ModelSpec& model, const Workload& workload)
    : m_model(&model)
    , m_dtype(storageType(workload))
    , m_activationType(workload.precision.activations.value_or(m_dtype))
    , m_cacheType(workload.precision.cache.value_or(m_activationType))
    , m_trains(workload.kind == WorkloadKind::Train)
    , m_batch(workload.batch / effective(workload).microBatches)
    , m_newTokens(workload.kind == WorkloadKind::Decode ? 1 : workload.sequence)
    , m_cachedTokens(workload.sequence)
    , m_capacity(workload.capacityFactor > 0 ? workload.capacityFactor : 1)
    , m_decode(workload.kind == WorkloadKind::Decode)
    , m_unfusedAttention(workload.attention == AttentionKernel::Unfused)
    , m_scoresAgain(m_unfusedAttention && workload.kind == WorkloadKind::Train
                    && (workload.recompute.has(RecomputePart::Cheap) || workload.recompute.has(RecomputePart::Attention)))
{
}

void GraphBuilder::begin(const std::string& name, const std::string& weightPrefix, TensorId carryIn)
{
    Segment segment;
    segment.name = name;
    segment.carryIn = carryIn;
    m_graph.segments.push_back(std::move(segment));
    nest({}, weightPrefix);
}

void GraphBuilder::nest(const std::string& opPrefix, const std::string& weightPrefix, int block)
{
    m_block = block;
    m_opPrefix = opPrefix;
    m_prefix = weightPrefix;
}

TensorId GraphBuilder::add(const std::string& name, TensorRole role, Shape shape, Labels labels, DType dtype, Fill fill)
{
    GraphTensor tensor;
    tensor.spec = { name, std::move(shape), dtype, role, std::move(labels), {}, {} };
    tensor.fill = fill;
    tensor.segment = lastId(m_graph.segments);
    tensor.copies = role == TensorRole::Weight ? m_graph.segments.back().count : 1;
    tensor.block = role == TensorRole::Weight ? m_block : 0;
    m_graph.tensors.push_back(std::move(tensor));
    return lastId(m_graph.tensors);
}

TensorId GraphBuilder::input(const std::string& name, Shape shape, Labels labels, Fill fill)
{
    if (const auto known = m_inputs.find(name); known != m_inputs.end())
        return known->second;
    const TensorId id = add(name, TensorRole::Input, std::move(shape), std::move(labels), m_activationType, fill);
    TensorSpec& spec = entry(id).spec;
    spec.logicalNames.assign(spec.shape.size(), "");
    spec.logicalNames[0] = "activation_embed_and_logits_batch";
    spec.logicalNames[1] = "activation_norm_length";
    return m_inputs[name] = id;
}

TensorId GraphBuilder::weight(const std::string& name, Shape shape, Labels labels, Fill fill, Labels logical)
{
    return weightAt(m_prefix + ownName(name), std::move(shape), std::move(labels), fill, std::move(logical));
}

std::string GraphBuilder::ownName(const std::string& name) const
{
    if (m_model->names.empty())
        return name;
    if (const auto found = m_model->names.find(name); found != m_model->names.end())
        return found->second;
    for (const std::string_view end : { ".weight", ".bias" })
        if (name.ends_with(end))
            if (const auto found = m_model->names.find(name.substr(0, name.size() - end.size())); found != m_model->names.end())
                return found->second + std::string(end);
    return name;
}

TensorId GraphBuilder::weightAt(const std::string& wholeName, Shape shape, Labels labels, Fill fill, Labels logical)
{
    const TensorId id = add(wholeName, TensorRole::Weight, std::move(shape), std::move(labels), m_dtype, fill);
    TensorSpec& spec = m_graph.tensors.back().spec;
    spec.logicalNames = std::move(logical);
    const std::size_t dims = spec.shape.size();
    if (m_trains || m_model->packed.empty() || dims < 2)
        return id;
    if (const PackedWeights* packed = m_model->packedAs(wholeName); packed != nullptr) {
        spec.packing = packed->packing;
        if (spec.dimLabels[dims - 2].starts_with("in (")) // blocks lie on [out, in]
            std::swap(spec.packing.outBlock, spec.packing.inBlock);
    }
    return id;
}

TensorId GraphBuilder::op(const std::string& name, OpKind kind, std::vector<TensorId> operands, Made result,
                          const OpAttributes& attributes)
{
    Op op { m_opPrefix + ownName(name), kind, std::move(operands), kNoTensor, attributes };
    const GraphTensor& first = entry(op.operands.front());
    Result<Shape> derived = resultShape(m_graph, op, result.sizes);
    if (!derived.ok() && m_status.ok())
        m_status = derived.error();
    Shape shape = derived.ok() ? std::move(derived).value() : first.spec.shape;
    const std::size_t own = std::min(shape.size(), result.labels.size());
    Labels labels;
    labels.reserve(shape.size());
    for (std::size_t dim = 0; dim < shape.size() - own; ++dim)
        labels.push_back(dim < first.spec.dimLabels.size() ? first.spec.dimLabels[dim] : std::string());
    std::move(result.labels.end() - static_cast<std::ptrdiff_t>(own), result.labels.end(), std::back_inserter(labels));
    const double density = first.density;
    op.result = add(result.name, TensorRole::Activation, std::move(shape), std::move(labels), m_activationType);
    m_graph.tensors.back().density = density;
    m_graph.ops.push_back(std::move(op));
    m_graph.segments.back().ops.push_back(lastId(m_graph.ops));
    return m_graph.ops.back().result;
}

Result<Graph> GraphBuilder::finish() &&
{
    if (!m_status.ok())
        return m_status.error();
    return std::move(m_graph);
}

TensorId GraphBuilder::slice(const std::string& name, TensorId x, std::int64_t first, std::int64_t size, const std::string& label,
                             const std::string& result)
{
    OpAttributes attributes;
    attributes.first = first;
    return op(name, OpKind::SliceLast, { x }, { result, { label }, { { "m", size } } }, attributes);
}

void GraphBuilder::inUnits(TensorId id, std::size_t dim, std::int64_t elements)
{
    TensorSpec& spec = entry(id).spec;
    spec.grains.assign(spec.shape.size(), 1);
    if (dim < spec.grains.size()) // not where an operation before it cannot be
        spec.grains[dim] = elements;
}

TensorId GraphBuilder::asPart(TensorId weight, std::size_t dim, const ProjectionPart& part)
{
    if (part.name.empty())
        return weight;
    GraphTensor& tensor = entry(weight);
    tensor.part = { tensor.spec.name, dim, part.first };
    std::string& name = tensor.spec.name;
    for (const std::string_view end : { ".weight", ".bias" })
        if (name.ends_with(end)) {
            name.insert(name.size() - end.size(), "." + part.name);
            return weight;
        }
    name += "." + part.name;
    return weight;
}

TensorId GraphBuilder::linear(const std::string& name, TensorId x, const Side& out, const Side& in, bool bias,
                              const std::string& result, const ProjectionPart& part)
{
    const std::string opName = part.name.empty() ? name : ownName(name) + "." + part.name;
    const bool turned = m_model->block.transposed && m_graph.segments.back().isLayer;
    Shape shape { out.size, in.size };
    Labels labels { "out (" + out.label + ")", "in (" + in.label + ")" };
    Labels logical { out.logical, in.logical };
    if (turned) {
        std::swap(shape[0], shape[1]);
        std::swap(labels[0], labels[1]);
        std::swap(logical[0], logical[1]);
    }
    const TensorId w = asPart(weight(name + ".weight", std::move(shape), std::move(labels),
                                     { 0.0, 1.0 / std::sqrt(static_cast<double>(in.size)) }, std::move(logical)),
                              turned ? 1 : 0, part);
    if (out.unit > 0 || in.unit > 0)
        inUnits(w, (out.unit > 0) != turned ? 0 : 1, out.unit > 0 ? out.unit : in.unit);
    const TensorId y =
        op(opName, turned ? OpKind::LinearT : OpKind::Linear, { x, w }, { bias ? result + " before bias" : result, { out.label } });
    if (out.unit > 0)
        inUnits(y, 2, out.unit);
    if (!bias)
        return y;
    const TensorId b =
        asPart(weight(name + ".bias", { out.size }, { "out (" + out.label + ")" }, { 0.0, 0.1 }, { out.logical }), 0, part);
    const TensorId sum = op(opName + ".bias", OpKind::Add, { y, b }, { result });
    if (out.unit > 0) {
        inUnits(b, 0, out.unit);
        inUnits(sum, 2, out.unit);
    }
    return sum;
}

TensorId GraphBuilder::norm(const std::string& name, TensorId x, const std::string& result)
{
    if (!m_model->norm.weighted) {
        OpAttributes attributes;
        attributes.epsilon = m_model->norm.epsilon;
        attributes.centred = m_model->norm.kind == NormKind::LayerNorm;
        return op(name, OpKind::UnitNorm, { x }, { result }, attributes);
    }
    if (m_model->norm.kind == NormKind::RmsNorm || !m_model->norm.bias)
        return rmsNorm(name, x, "hidden", result);
    return layerNorm(name, x, "hidden", result);
}

TensorId GraphBuilder::layerNorm(const std::string& name, TensorId x, const std::string& label, const std::string& result)
{
    OpAttributes attributes;
    attributes.epsilon = m_model->norm.epsilon;
    const std::int64_t size = tensor(x).shape.back();
    const TensorId gamma = weight(name + ".weight", { size }, { label }, { 1.0, 0.1 }, { "norm" });
    const TensorId beta = weight(name + ".bias", { size }, { label }, { 0.0, 0.1 }, { "norm" });
    return op(name, OpKind::LayerNorm, { x, gamma, beta }, { result }, attributes);
}

TensorId GraphBuilder::rmsNorm(const std::string& name, TensorId x, const std::string& label, const std::string& result)
{
    OpAttributes attributes;
    attributes.epsilon = m_model->norm.epsilon;
    attributes.offset = m_model->norm.weightOffset;
    attributes.centred = m_model->norm.kind == NormKind::LayerNorm;
    const TensorId gamma =
        weight(name + ".weight", { tensor(x).shape.back() }, { label }, { 1.0 - attributes.offset, 0.1 }, { "norm" });
    return op(name, OpKind::RmsNorm, { x, gamma }, { result }, attributes);
}

TensorId GraphBuilder::scaled(const std::string& name, TensorId x, double factor, const std::string& result)
{
    if (factor == 1)
        return x;
    OpAttributes attributes;
    attributes.scale = factor;
    return op(name, OpKind::Scale, { x }, { result }, attributes);
}

TensorId GraphBuilder::activation(const std::string& prefix, const std::string& what, TensorId gate, TensorId up)
{
    OpAttributes attributes;
    if (gate != kNoTensor && m_model->scaling.swigluLimit > 0) {
        attributes.cap = m_model->scaling.swigluLimit;
        return op(prefix + "swiglu", OpKind::ClampedSwiglu, { gate, up }, { what + " hidden" }, attributes);
    }
    const Activation* known = findActivation(m_model->activation);
    const OpKind kind = known == nullptr ? OpKind::Silu : known->kind;
    if (gate == kNoTensor)
        return op(prefix + "act", kind, { up }, { what + " hidden" });
    const TensorId active = op(prefix + "act", kind, { gate }, { what + " gate active" });
    return op(prefix + "mul", OpKind::Mul, { active, up }, { what + " hidden" });
}

} // namespace shardboard
