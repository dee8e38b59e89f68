// SPDX-License-Identifier: Apache-2.0
#include "engine/conformance/reference.h"

#include "engine/conformance/referencegradients.h"
#include "model/ops/opdefinition.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

Doubles normed(const Value& x, const Doubles& weight, const Doubles* bias, const OpAttributes& a, bool centred)
{
    Doubles out = x.data;
    const std::size_t n = at(x.shape.back());
    for (std::size_t row = 0; row < out.size(); row += n) {
        double mean = 0;
        double square = 0;
        for (std::size_t i = 0; centred && i < n; ++i)
            mean += out[row + i] / static_cast<double>(n);
        for (std::size_t i = 0; i < n; ++i)
            square += (out[row + i] - mean) * (out[row + i] - mean) / static_cast<double>(n);
        for (std::size_t i = 0; i < n; ++i)
            out[row + i] =
                (out[row + i] - mean) / std::sqrt(square + a.epsilon) * (weight[i] + a.offset) + (bias != nullptr ? (*bias)[i] : 0);
    }
    return out;
}

Doubles linear(const Value& x, const Value& weight)
{
    const std::size_t in = at(weight.shape[1]);
    const std::size_t width = at(weight.shape[0]);
    Doubles out;
    for (std::size_t row = 0; row < x.data.size(); row += in)
        for (std::size_t o = 0; o < width; ++o) {
            double sum = 0;
            for (std::size_t i = 0; i < in; ++i)
                sum += x.data[row + i] * weight.data[o * in + i];
            out.push_back(sum);
        }
    return out;
}

/// `b` is broadcast from the right.
Doubles combined(const Value& a, const Value& b, bool add)
{
    Doubles out = a.data;
    for (std::size_t i = 0; i < out.size(); ++i) {
        std::size_t rest = i;
        std::size_t offset = 0;
        std::size_t stride = 1;
        for (std::size_t d = 0; d < b.shape.size(); ++d) {
            const std::int64_t size = b.shape[b.shape.size() - 1 - d];
            const std::size_t whole = at(a.shape[a.shape.size() - 1 - d]);
            offset += size == 1 ? 0 : rest % whole * stride;
            rest /= whole;
            stride *= at(size);
        }
        out[i] = add ? out[i] + b.data[offset] : out[i] * b.data[offset];
    }
    return out;
}

/// As the paper's authors compute them (github.com/ofirpress/attention_with_linear_biases, get_slopes).
Doubles alibiSlopes(std::int64_t heads)
{
    const auto ofPower = [](std::int64_t n) {
        const double start = std::pow(2, -std::pow(2, -(std::log2(static_cast<double>(n)) - 3)));
        Doubles out;
        for (std::int64_t i = 0; i < n; ++i)
            out.push_back(start * std::pow(start, static_cast<double>(i)));
        return out;
    };
    const auto lower = static_cast<std::int64_t>(std::pow(2, std::floor(std::log2(static_cast<double>(heads)))));
    Doubles out = ofPower(lower);
    const Doubles twice = ofPower(2 * lower);
    for (std::size_t i = 0; out.size() < at(heads); i += 2)
        out.push_back(twice[i]);
    return out;
}

/// Attention of every query; sinks may be null.
Doubles attention(const Value& q, const Value& k, const Value& v, const Value* sinks, const OpAttributes& a, std::int64_t width)
{
    const std::int64_t fresh = q.shape[1], heads = q.shape[2], d = q.shape[3], cached = k.shape[1], kvHeads = k.shape[2];
    const double scale = a.scale > 0 ? a.scale : 1 / std::sqrt(static_cast<double>(d));
    Doubles out(at(q.shape[0] * fresh * heads * width));
    Doubles weights;
    for (std::int64_t row = 0; row < q.shape[0] * fresh * heads; ++row) {
        const std::int64_t h = row % heads, s = row / heads % fresh, b = row / heads / fresh;
        weights.clear();
        double sum = sinks == nullptr ? 0 : std::exp(sinks->data[at(h)]);
        const auto key = [&](std::int64_t t) { return (b * cached + t) * kvHeads + h / (heads / kvHeads); };
        const std::int64_t own = cached - fresh + s;
        for (std::int64_t t = 0; t < (a.bothWays ? cached : own + 1); ++t) {
            double score = 0;
            for (std::int64_t i = 0; i < d; ++i)
                score += q.data[at(row * d + i)] * k.data[at(key(t) * d + i)];
            score *= scale;
            if (a.alibi)
                score -= alibiSlopes(heads)[at(h)] * static_cast<double>(own - t);
            if (a.cap > 0)
                score = a.cap * std::tanh(score / a.cap);
            weights.push_back(std::exp(score));
            sum += weights.back();
        }
        for (std::size_t t = 0; t < weights.size(); ++t)
            for (std::int64_t i = 0; i < width; ++i)
                out[at(row * width + i)] += weights[t] / sum * v.data[at(key(static_cast<std::int64_t>(t)) * v.shape[3] + i)];
    }
    return out;
}

/// Scan with a matrix as the state; `state` [h,n,p] of a sequence may be given, and what is asked for is either the results or the
/// state at the end.
Doubles scanned(const Value& q, const Value& k, const Value& v, const Value& decay, const Value& rate, const Value* begin,
                const OpAttributes& a, bool wantsState)
{
    const std::int64_t tokens = v.shape[1], heads = v.shape[2], p = v.shape[3], n = k.shape[3], keyHeads = k.shape[2];
    const std::int64_t r = decay.shape[3];
    Doubles out;
    Doubles states;
    for (std::int64_t b = 0; b < v.shape[0]; ++b) {
        Doubles state(at(heads * n * p));
        if (begin != nullptr)
            std::copy_n(begin->data.begin() + b * heads * n * p, heads * n * p, state.begin());
        for (std::int64_t t = 0; t < tokens; ++t)
            for (std::int64_t h = 0; h < heads; ++h) {
                const std::int64_t row = (b * tokens + t) * heads + h;
                const std::int64_t keyRow = (b * tokens + t) * keyHeads + h / (heads / keyHeads);
                const auto cell = [&](std::int64_t i, std::int64_t j) -> double& { return state[at((h * n + i) * p + j)]; };
                for (std::int64_t i = 0; i < n; ++i)
                    for (std::int64_t j = 0; j < p; ++j)
                        cell(i, j) *= std::exp(decay.data[at(row * r + i / (n / r))]);
                for (std::int64_t j = 0; j < p; ++j) {
                    double value = v.data[at(row * p + j)];
                    for (std::int64_t i = 0; a.delta && i < n; ++i)
                        value -= k.data[at(keyRow * n + i)] * cell(i, j);
                    for (std::int64_t i = 0; i < n; ++i)
                        cell(i, j) += rate.data[at(row)] * k.data[at(keyRow * n + i)] * value;
                }
                for (std::int64_t j = 0; j < p; ++j) {
                    double sum = 0;
                    for (std::int64_t i = 0; i < n; ++i)
                        sum += q.data[at(keyRow * n + i)] * cell(i, j);
                    out.push_back(sum * (a.scale != 0 ? a.scale : 1));
                }
            }
        states.insert(states.end(), state.begin(), state.end());
    }
    return wantsState ? states : out;
}

/// Each channel with its taps; the last tap is of the token itself.
Doubles convolved(const Value& x, const Value& weight, const OpAttributes& a, std::int64_t fresh)
{
    const std::int64_t tokens = x.shape[1], channels = x.shape[2], taps = weight.shape[2];
    Doubles out;
    for (std::int64_t i = 0; i < x.shape[0] * fresh * channels; ++i) {
        const std::int64_t c = i % channels, s = i / channels % fresh, b = i / channels / fresh;
        double sum = 0;
        for (std::int64_t back = 0; back < taps && back <= tokens - fresh + s; ++back)
            sum += x.data[at((b * tokens + tokens - fresh + s - back) * channels + c)]
                * weight.data[at((a.first + c) * taps + taps - 1 - back)];
        out.push_back(sum);
    }
    return out;
}

Doubles scoresOf(const Doubles& logits, bool sigmoid)
{
    double sum = 0;
    for (const double logit : logits)
        sum += std::exp(logit);
    Doubles scores;
    for (const double logit : logits)
        scores.push_back(sigmoid ? 1 / (1 + std::exp(-logit)) : std::exp(logit) / sum);
    return scores;
}

/// The first `count` by falling value; of equal ones the lower index.
std::vector<std::size_t> highest(std::vector<std::pair<double, std::size_t>> values, std::size_t count)
{
    std::sort(values.begin(), values.end(),
              [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < count; ++i)
        out.push_back(values[i].second);
    return out;
}

/// The experts of one token, by sorting.
std::vector<std::size_t> chosenOf(const Doubles& logits, const Doubles* bias, const OpAttributes& a)
{
    const std::size_t experts = logits.size();
    Doubles choice = scoresOf(logits, a.sigmoid);
    for (std::size_t e = 0; bias != nullptr && e < experts; ++e)
        choice[e] += (*bias)[e];
    const std::size_t groupCount = at(std::max<std::int64_t>(1, a.groups));
    const std::size_t size = experts / groupCount;
    std::vector<std::pair<double, std::size_t>> groups;
    for (std::size_t g = 0; g < groupCount; ++g) {
        Doubles members(choice.begin() + static_cast<std::ptrdiff_t>(g * size),
                        choice.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
        std::sort(members.rbegin(), members.rend());
        groups.emplace_back(a.sigmoid && size > 1 ? members[0] + members[1] : members[0], g);
    }
    std::vector<std::pair<double, std::size_t>> allowed;
    for (const std::size_t group : highest(groups, at(std::max<std::int64_t>(1, a.chosenGroups))))
        for (std::size_t e = group * size; e < (group + 1) * size; ++e)
            allowed.emplace_back(choice[e], e);
    return highest(allowed, at(a.chosen));
}

/// `chosenBy` has the logits that decide which experts are chosen.
Doubles gates(const Value& logits, const Value& chosenBy, const Doubles* bias, const OpAttributes& a)
{
    const std::size_t experts = at(logits.shape.back());
    Doubles out(logits.data.size());
    for (std::size_t row = 0; row < out.size(); row += experts) {
        const auto rowOf = [&](const Value& value) {
            const auto first = value.data.begin() + static_cast<std::ptrdiff_t>(row);
            return Doubles(first, first + static_cast<std::ptrdiff_t>(experts));
        };
        const Doubles scores = scoresOf(rowOf(logits), a.sigmoid);
        const auto chosen = chosenOf(rowOf(chosenBy), bias, a);
        double total = 0;
        for (const std::size_t e : chosen)
            total += scores[e];
        for (const std::size_t e : chosen)
            out[row + e] = scores[e] * a.scale / (a.normalized ? total : 1);
    }
    return out;
}

/// Rotates the pairs.
Doubles rotated(const Value& x, const OpAttributes& a)
{
    Doubles out = x.data;
    const std::int64_t d = x.shape[3], heads = x.shape[2], tokens = x.shape[1];
    const std::int64_t count = a.count > 0 ? a.count : d;
    for (std::int64_t row = 0; row < volume(x.shape) / d; ++row)
        for (std::int64_t i = 0; i < count / 2; ++i) {
            const double position = static_cast<double>(a.position + row / heads % tokens);
            const double angle = position * std::pow(a.ropeTheta, -2.0 * static_cast<double>(i) / static_cast<double>(count));
            const std::size_t first = at(row * d + a.first + i), second = first + at(count / 2);
            out[first] = x.data[first] * std::cos(angle) - x.data[second] * std::sin(angle);
            out[second] = x.data[second] * std::cos(angle) + x.data[first] * std::sin(angle);
        }
    return out;
}

/// y = x W of the head's part of the weight: the first rows for keys, the last ones for values.
Doubles absorbed(const Value& x, const Value& weight, bool keys, std::int64_t width)
{
    const std::int64_t heads = x.shape[2], n = x.shape[3], r = weight.shape[1], unit = weight.shape[0] / heads;
    Doubles out;
    for (std::int64_t row = 0; row < volume(x.shape) / n; ++row)
        for (std::int64_t o = 0; o < width; ++o) {
            const std::int64_t head = row % heads;
            double sum = 0;
            for (std::int64_t i = 0; i < n; ++i)
                sum += x.data[at(row * n + i)]
                    * (keys ? weight.data[at((head * unit + i) * r + o)]
                            : weight.data[at((head * unit + unit - width + o) * r + i)]);
            out.push_back(sum);
        }
    return out;
}

Doubles expertLinear(const Value& x, const Value& weight, bool transposed, std::int64_t width)
{
    const std::int64_t rows = x.shape[1] * x.shape[2], in = x.shape[3];
    Doubles out;
    for (std::int64_t e = 0; e < x.shape[0]; ++e)
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t o = 0; o < width; ++o) {
                double sum = 0;
                for (std::int64_t i = 0; i < in; ++i)
                    sum += x.data[at((e * rows + row) * in + i)]
                        * weight.data[at(e * in * width + (transposed ? i * width + o : o * in + i))];
                out.push_back(sum);
            }
    return out;
}

/// Rows of tokens that the expert did not get are zeros and stay so.
Doubles expertBias(const Value& x, const Value& bias)
{
    Doubles out = x.data;
    const std::size_t n = at(x.shape[3]), rows = at(x.shape[1] * x.shape[2]);
    for (std::size_t row = 0; row < out.size() / n; ++row) {
        const auto first = x.data.begin() + static_cast<std::ptrdiff_t>(row * n);
        if (std::any_of(first, first + static_cast<std::ptrdiff_t>(n), [](double value) { return value != 0; }))
            for (std::size_t i = 0; i < n; ++i)
                out[row * n + i] += bias.data[row / rows * n + i];
    }
    return out;
}

Doubles lossPart(OpKind kind, const Operands& in, std::int64_t rows)
{
    const Value& logits = *in[0];
    const std::size_t n = at(logits.shape.back());
    Doubles out;
    for (std::size_t row = 0; row < at(rows); ++row) {
        if (kind == OpKind::TokenLoss) {
            out.push_back((std::log(in[1]->data[row]) + logits.data[row] - in[2]->data[row]) / static_cast<double>(rows));
            continue;
        }
        const double* values = logits.data.data() + row * n;
        double sum = 0;
        for (std::size_t i = 0; kind == OpKind::SumExp && i < n; ++i)
            sum += std::exp(values[i] - in[1]->data[row]);
        if (kind == OpKind::LogitMax)
            sum = *std::max_element(values, values + n);
        else if (kind == OpKind::TargetLogit)
            sum = values[static_cast<std::size_t>(in[1]->data[row])];
        out.push_back(sum);
    }
    return out;
}

Doubles forward(OpKind kind, const OpAttributes& a, const Operands& in, const Shape& result, const ReferenceInputs& inputs)
{
    const Value& x = *in[0];
    Doubles out;
    if (const auto value = definitionOf(kind).value) {
        std::vector<double> elements(in.size());
        for (std::size_t i = 0; i < x.data.size(); ++i) {
            for (std::size_t operand = 0; operand < in.size(); ++operand)
                elements[operand] = in[operand]->data[i];
            out.push_back(value(elements.data(), a));
        }
        return out;
    }
    const std::int64_t n = x.shape.back();
    const std::int64_t rows = volume(x.shape) / n;
    switch (kind) {
    case OpKind::Embedding:
        for (const double token : x.data) {
            const auto row = in[1]->data.begin() + static_cast<std::ptrdiff_t>(token) * in[1]->shape[1];
            out.insert(out.end(), row, row + in[1]->shape[1]);
        }
        return out;
    case OpKind::RmsNorm:
        return normed(x, in[1]->data, nullptr, a, a.centred);
    case OpKind::LayerNorm:
        return normed(x, in[1]->data, &in[2]->data, a, true);
    case OpKind::Linear:
        return linear(x, *in[1]);
    case OpKind::LinearT:
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t o = 0; o < result.back(); ++o) {
                double sum = 0;
                for (std::int64_t i = 0; i < n; ++i)
                    sum += x.data[at(row * n + i)] * in[1]->data[at(i * result.back() + o)];
                out.push_back(sum);
            }
        return out;
    case OpKind::UnitNorm:
        return normed(x, Doubles(at(n), 1.0), nullptr, a, a.centred);
    case OpKind::HeadScale:
        for (std::size_t i = 0; i < x.data.size(); ++i)
            out.push_back(x.data[i] * in[1]->data[i / at(n) % at(x.shape[2])]);
        return out;
    case OpKind::HeadGate:
        for (std::size_t i = 0; i < x.data.size(); ++i)
            out.push_back(x.data[i] * in[1]->data[i / at(n)]);
        return out;
    case OpKind::HeadOuter:
        for (std::size_t i = 0; i < x.data.size(); ++i)
            for (std::int64_t e = 0; e < result.back(); ++e)
                out.push_back(x.data[i] * in[1]->data[i % at(n) * at(result.back()) + at(e)]);
        return out;
    case OpKind::AddPositions:
        for (std::size_t i = 0; i < x.data.size(); ++i)
            out.push_back(x.data[i] + in[1]->data[(at(a.first) + i / at(n) % at(x.shape[1])) * at(n) + i % at(n)]);
        return out;
    case OpKind::CausalConv:
        return convolved(x, *in[1], a, result[1]);
    case OpKind::StateScan:
        return scanned(x, *in[1], *in[2], *in[3], *in[4], nullptr, a, false);
    case OpKind::StateAppend:
        return scanned(x, x, *in[1], *in[2], *in[3], inputs.cached, a, true);
    case OpKind::StateRead: {
        const std::int64_t heads = result[2], p = result[3], keyHeads = x.shape[2];
        for (std::int64_t i = 0; i < volume(result); ++i) {
            double sum = 0;
            const std::int64_t j = i % p, h = i / p % heads, b = i / p / heads;
            for (std::int64_t e = 0; e < n; ++e)
                sum += x.data[at((b * keyHeads + h / (heads / keyHeads)) * n + e)]
                    * in[1]->data[at(((b * heads + h) * n + e) * p + j)];
            out.push_back(sum * (a.scale != 0 ? a.scale : 1));
        }
        return out;
    }
    case OpKind::Add:
    case OpKind::Mul:
        return combined(x, *in[1], kind == OpKind::Add);
    case OpKind::SplitHeads:
    case OpKind::MergeHeads:
    case OpKind::SplitGroups:
    case OpKind::Output:
    case OpKind::GatherLast:
    case OpKind::ReduceGrad:
        return x.data; // the same elements in the same order
    case OpKind::Rope:
        return rotated(x, a);
    case OpKind::KvAppend: {
        out = inputs.cached->data;
        const std::int64_t token = x.shape[2] * x.shape[3], fresh = x.shape[1], cached = result[1];
        for (std::int64_t b = 0; b < x.shape[0]; ++b)
            std::copy_n(x.data.begin() + b * fresh * token, fresh * token, out.begin() + (b * cached + cached - fresh) * token);
        return out;
    }
    case OpKind::Attention:
        return attention(x, *in[1], *in[2], nullptr, a, result[3]);
    case OpKind::SinkAttention:
        return attention(x, *in[1], *in[2], in[3], a, result[3]);
    case OpKind::LastToken: {
        const std::int64_t token = x.shape[2], sequence = x.shape[1] * token;
        for (std::int64_t b = 1; b <= x.shape[0]; ++b)
            out.insert(out.end(), x.data.begin() + b * sequence - token, x.data.begin() + b * sequence);
        return out;
    }
    case OpKind::SliceLast:
    case OpKind::EveryOther:
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t i = 0; i < result.back(); ++i)
                out.push_back(x.data[at(row * n + a.first + (kind == OpKind::SliceLast ? i : 2 * i))]);
        return out;
    case OpKind::JoinLast:
    case OpKind::JoinKeys: {
        const std::int64_t m = in[1]->shape.back();
        for (std::int64_t row = 0; row < rows; ++row) {
            const std::int64_t other = kind == OpKind::JoinLast ? row : row / x.shape[2];
            out.insert(out.end(), x.data.begin() + row * n, x.data.begin() + (row + 1) * n);
            out.insert(out.end(), in[1]->data.begin() + other * m, in[1]->data.begin() + (other + 1) * m);
        }
        return out;
    }
    case OpKind::AbsorbKeys:
    case OpKind::AbsorbValues:
        return absorbed(x, *in[1], kind == OpKind::AbsorbKeys, result[3]);
    case OpKind::TopKGates:
        return gates(x, inputs.chosenBy != nullptr ? *inputs.chosenBy : x, nullptr, a);
    case OpKind::BiasedTopKGates:
        return gates(x, inputs.chosenBy != nullptr ? *inputs.chosenBy : x, &in[1]->data, a);
    case OpKind::Dispatch:
        for (std::int64_t e = 0; e < result[0]; ++e)
            for (std::int64_t row = 0; row < rows; ++row)
                for (std::int64_t i = 0; i < n; ++i)
                    out.push_back(in[1]->data[at(row * result[0] + e)] != 0 ? x.data[at(row * n + i)] : 0);
        return out;
    case OpKind::ExpertLinear:
    case OpKind::ExpertLinearT:
        return expertLinear(x, *in[1], kind == OpKind::ExpertLinearT, result[3]);
    case OpKind::ExpertBias:
        return expertBias(x, *in[1]);
    case OpKind::Combine: {
        const std::int64_t tokens = x.shape[1] * x.shape[2];
        out.assign(at(tokens * n), 0);
        for (std::int64_t i = 0; i < volume(x.shape); ++i) {
            const std::int64_t e = i / n / tokens, token = i / n % tokens;
            out[at(token * n + i % n)] += in[1]->data[at(token * x.shape[0] + e)] * x.data[at(i)];
        }
        return out;
    }
    case OpKind::LogitMax:
    case OpKind::SumExp:
    case OpKind::TargetLogit:
    case OpKind::TokenLoss:
        return lossPart(kind, in, volume(result));
    default:
        return gradientReference(kind, a, in, result);
    }
}

} // namespace

Value reference(OpKind kind, const OpAttributes& attributes, const std::vector<const Value*>& operands, const Shape& result,
                const ReferenceInputs& inputs)
{
    return { result, forward(kind, attributes, operands, result, inputs) };
}

} // namespace shardboard::conformance
