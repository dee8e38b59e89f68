// SPDX-License-Identifier: Apache-2.0
#include "engine/conformance/referencegradients.h"

#include "engine/conformance/gradientcases.h"

#include <algorithm>
#include <cmath>
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

/// Slopes of the forward operation along one operand. On operands that the gradient does not have it does not depend; zeros do.
Doubles byDifferences(const GradientCase& of, const OpAttributes& attributes, const Operands& in, const Shape& result)
{
    const auto gradientsOwn = std::find(of.gradientOperands.begin(), of.gradientOperands.end(), kGradient);
    const Value& dy = *in[at(gradientsOwn - of.gradientOperands.begin())];
    std::vector<Value> operands;
    for (int i = 0; i < static_cast<int>(of.operands.size()); ++i) {
        const auto own = std::find(of.gradientOperands.begin(), of.gradientOperands.end(), i);
        // Others are what positions are added to, and weights and biases of norms.
        const Shape shape = i == of.of ? result : i == 0 ? dy.shape : Shape { dy.shape.back() };
        operands.push_back(own != of.gradientOperands.end() ? *in[at(own - of.gradientOperands.begin())]
                                                            : Value { shape, Doubles(at(volume(shape))) });
    }
    Operands list;
    for (const Value& operand : operands)
        list.push_back(&operand);
    const Value chosenBy = operands.front(); // which experts are chosen has no slope
    const auto loss = [&] {
        const Value y = reference(of.forward, attributes, list, dy.shape, { nullptr, &chosenBy });
        double sum = 0;
        for (std::size_t i = 0; i < y.data.size(); ++i)
            sum += y.data[i] * dy.data[i];
        return sum;
    };
    constexpr double kStep = 1e-5;
    Doubles out;
    for (double& element : operands[at(of.of)].data) {
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

/// The first step of Adam, whose moments start at 0, with the rate and epsilon that the engine's runs have.
Doubles adam(const Value& weight, const Value& gradient)
{
    constexpr double kRate = 2e-4;
    constexpr double kEpsilon = 1e-6;
    Doubles out;
    for (std::size_t i = 0; i < weight.data.size(); ++i)
        out.push_back(weight.data[i] - kRate * gradient.data[i] / (std::fabs(gradient.data[i]) + kEpsilon));
    return out;
}

} // namespace

std::vector<double> gradientReference(OpKind kind, const OpAttributes& a, const std::vector<const Value*>& in, const Shape& result)
{
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
    case OpKind::SgdStep: // at a rate of 1
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = dy.data[i] - in[1]->data[i];
        return out;
    case OpKind::SumHeads:
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t i = 0; i < result.back(); ++i)
                out[at(row / dy.shape[2] * result.back() + i)] += d(row, a.first + i);
        return out;
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
    default:
        break;
    }
    for (const GradientCase& one : gradientCases())
        if (one.gradient == kind)
            return byDifferences(one, a, in, result);
    throw std::logic_error("there is no reference for " + opKindName(kind));
}

} // namespace shardboard::conformance
