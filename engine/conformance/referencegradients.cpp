// SPDX-License-Identifier: Apache-2.0
#include "engine/conformance/referencegradients.h"

#include <cmath>
#include <optional>
#include <stdexcept>

namespace shardboard::conformance {

namespace {

using Doubles = std::vector<double>;
using Operands = std::vector<const Value*>;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::int64_t volume(const Shape& shape)
{
    std::int64_t out = 1;
    for (const std::int64_t size : shape)
        out *= size;
    return out;
}

/// Of which forward operation it is the slope: along operand `of`. The operands of the forward operation are those of the
/// gradient after dy; where there are fewer, the slope does not depend on the others, and zeros do.
struct Slope {
    OpKind forward;
    std::size_t of;
    std::vector<std::size_t> missing {}; ///< operands of the forward operation that the gradient does not have
};

std::optional<Slope> slopeOf(OpKind kind)
{
    switch (kind) {
    case OpKind::RmsNormGradX:
        return Slope { OpKind::RmsNorm, 0 };
    case OpKind::RmsNormGradW:
        return Slope { OpKind::RmsNorm, 1, { 1 } };
    case OpKind::LayerNormGradX:
        return Slope { OpKind::LayerNorm, 0, { 2 } };
    case OpKind::LayerNormGradW:
        return Slope { OpKind::LayerNorm, 1, { 1, 2 } };
    case OpKind::SiluGrad:
        return Slope { OpKind::Silu, 0 };
    case OpKind::GeluGrad:
        return Slope { OpKind::Gelu, 0 };
    case OpKind::GeluTanhGrad:
        return Slope { OpKind::GeluTanh, 0 };
    case OpKind::SoftCapGrad:
        return Slope { OpKind::SoftCap, 0 };
    case OpKind::ClampedSwigluGradGate:
        return Slope { OpKind::ClampedSwiglu, 0 };
    case OpKind::ClampedSwigluGradUp:
        return Slope { OpKind::ClampedSwiglu, 1 };
    case OpKind::AttentionGradQ:
        return Slope { OpKind::Attention, 0 };
    case OpKind::AttentionGradK:
        return Slope { OpKind::Attention, 1 };
    case OpKind::AttentionGradV:
        return Slope { OpKind::Attention, 2 };
    case OpKind::SinkAttentionGradQ:
        return Slope { OpKind::SinkAttention, 0 };
    case OpKind::SinkAttentionGradK:
        return Slope { OpKind::SinkAttention, 1 };
    case OpKind::SinkAttentionGradV:
        return Slope { OpKind::SinkAttention, 2 };
    case OpKind::SinkAttentionGradS:
        return Slope { OpKind::SinkAttention, 3 };
    case OpKind::TopKGatesGrad:
        return Slope { OpKind::TopKGates, 0 };
    case OpKind::BiasedTopKGatesGrad:
        return Slope { OpKind::BiasedTopKGates, 0 };
    default:
        return std::nullopt;
    }
}

Doubles byDifferences(const Slope& slope, const OpAttributes& attributes, const Operands& in, const Shape& result)
{
    const Value& dy = *in[0];
    std::vector<Value> operands;
    std::size_t next = 1;
    const std::size_t count = in.size() - 1 + slope.missing.size();
    for (std::size_t i = 0; i < count; ++i) {
        bool missing = false;
        for (const std::size_t one : slope.missing)
            missing = missing || one == i;
        const Shape row { dy.shape.back() }; // what is missing are weights and biases of norms
        operands.push_back(missing ? Value { row, Doubles(at(row[0])) } : *in[next++]);
    }
    Operands list;
    for (const Value& operand : operands)
        list.push_back(&operand);
    const Value chosenBy = operands.front(); // which experts are chosen has no slope
    const auto loss = [&] {
        const Value y = reference(slope.forward, attributes, list, dy.shape, { nullptr, &chosenBy });
        double sum = 0;
        for (std::size_t i = 0; i < y.data.size(); ++i)
            sum += y.data[i] * dy.data[i];
        return sum;
    };
    constexpr double kStep = 1e-5;
    Doubles out;
    for (double& element : operands[slope.of].data) {
        const double value = element;
        element = value + kStep;
        const double above = loss();
        element = value - kStep;
        out.push_back((above - loss()) / (2 * kStep));
        element = value;
    }
    if (out.size() != at(volume(result)))
        throw std::logic_error("a gradient of another size than its operand");
    return out;
}

Doubles logitGradient(const Operands& in)
{
    const Value& logits = *in[0];
    const std::size_t n = at(logits.shape.back());
    const std::size_t rows = logits.data.size() / n;
    Doubles out;
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t i = 0; i < n; ++i) {
            const double p = std::exp(logits.data[row * n + i] - in[1]->data[row]) / in[2]->data[row];
            const bool target = static_cast<std::size_t>(in[3]->data[row]) == i;
            out.push_back((p - (target ? 1 : 0)) / static_cast<double>(rows));
        }
    return out;
}

/// The first step of Adam, whose moments start at 0, with the rate that the engine's runs have.
Doubles adam(const Value& weight, const Value& gradient)
{
    constexpr double kRate = 2e-4;
    Doubles out;
    for (std::size_t i = 0; i < weight.data.size(); ++i)
        out.push_back(weight.data[i] - kRate * gradient.data[i] / (std::fabs(gradient.data[i]) + 1e-8));
    return out;
}

} // namespace

bool isGradient(OpKind kind)
{
    switch (kind) {
    case OpKind::LinearGradX:
    case OpKind::LinearGradW:
    case OpKind::EmbeddingGrad:
    case OpKind::SumLeading:
    case OpKind::LogitGrad:
    case OpKind::AdamStep:
    case OpKind::PadLast:
    case OpKind::SpreadOther:
    case OpKind::MergeGroups:
    case OpKind::SumHeads:
    case OpKind::DispatchGrad:
    case OpKind::ExpertLinearGradW:
    case OpKind::ExpertBiasGrad:
    case OpKind::CombineGradY:
    case OpKind::CombineGradGates:
        return true;
    default:
        return slopeOf(kind).has_value();
    }
}

std::vector<double> gradientReference(OpKind kind, const OpAttributes& a, const std::vector<const Value*>& in, const Shape& result)
{
    if (const auto slope = slopeOf(kind))
        return byDifferences(*slope, a, in, result);
    const Value& dy = *in[0];
    const std::int64_t n = dy.shape.back();
    const std::int64_t rows = volume(dy.shape) / n;
    const auto d = [&](std::int64_t row, std::int64_t i) { return dy.data[at(row * n + i)]; };
    Doubles out(at(volume(result)));
    switch (kind) {
    case OpKind::LinearGradX:
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t i = 0; i < result.back(); ++i)
                for (std::int64_t o = 0; o < n; ++o)
                    out[at(row * result.back() + i)] += d(row, o) * in[1]->data[at(o * result.back() + i)];
        return out;
    case OpKind::LinearGradW:
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t o = 0; o < n; ++o)
                for (std::int64_t i = 0; i < result[1]; ++i)
                    out[at(o * result[1] + i)] += d(row, o) * in[1]->data[at(row * result[1] + i)];
        return out;
    case OpKind::EmbeddingGrad:
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t i = 0; i < n; ++i)
                out[at(static_cast<std::int64_t>(in[1]->data[at(row)]) * n + i)] += d(row, i);
        return out;
    case OpKind::SumLeading:
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t i = 0; i < n; ++i)
                out[at(i)] += d(row, i);
        return out;
    case OpKind::LogitGrad:
        return logitGradient(in);
    case OpKind::AdamStep:
        return adam(dy, *in[1]);
    case OpKind::PadLast:
    case OpKind::SpreadOther:
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t i = 0; i < n; ++i)
                out[at(row * result.back() + a.first + (kind == OpKind::PadLast ? i : 2 * i))] = d(row, i);
        return out;
    case OpKind::MergeGroups:
        return dy.data;
    case OpKind::SumHeads:
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t i = 0; i < result.back(); ++i)
                out[at(row / dy.shape[2] * result.back() + i)] += d(row, a.first + i);
        return out;
    case OpKind::DispatchGrad: {
        const std::int64_t tokens = dy.shape[1] * dy.shape[2];
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t i = 0; i < n; ++i)
                if (in[1]->data[at(row % tokens * dy.shape[0] + row / tokens)] != 0)
                    out[at(row % tokens * n + i)] += d(row, i);
        return out;
    }
    case OpKind::ExpertLinearGradW: {
        const std::int64_t tokens = dy.shape[1] * dy.shape[2], width = result[2];
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t o = 0; o < n; ++o)
                for (std::int64_t i = 0; i < width; ++i)
                    out[at((row / tokens * n + o) * width + i)] += d(row, o) * in[1]->data[at(row * width + i)];
        return out;
    }
    case OpKind::ExpertBiasGrad:
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t i = 0; i < n; ++i)
                out[at(row / (dy.shape[1] * dy.shape[2]) * n + i)] += d(row, i);
        return out;
    case OpKind::CombineGradY:
        for (std::int64_t i = 0; i < volume(result); ++i) {
            const std::int64_t e = i / n / rows, token = i / n % rows;
            out[at(i)] = in[1]->data[at(token * result[0] + e)] * d(token, i % n);
        }
        return out;
    case OpKind::CombineGradGates: {
        const Value& y = *in[1];
        for (std::int64_t i = 0; i < volume(y.shape); ++i) {
            const std::int64_t e = i / n / rows, token = i / n % rows;
            out[at(token * y.shape[0] + e)] += y.data[at(i)] * d(token, i % n);
        }
        return out;
    }
    default:
        throw std::logic_error("there is no reference for " + opKindName(kind));
    }
}

} // namespace shardboard::conformance
