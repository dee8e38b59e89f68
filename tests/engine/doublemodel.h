// SPDX-License-Identifier: Apache-2.0
// A small decoder with its loss, in double and straightforward: the independent answer for training steps.
#pragma once

#include "engine/values/generator.h"
#include "model/families/modelspec.h"
#include "model/ops/graph.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardboard::test {

class DoubleModel {
public:
    using Matrix = std::vector<std::vector<double>>; ///< rows

    /// With the weights that a run of this graph makes up.
    DoubleModel(const ModelSpec& model, const Graph& graph, std::uint64_t seed)
        : m_model(model)
    {
        for (const GraphTensor& tensor : graph.tensors) {
            if (tensor.spec.role != TensorRole::Weight)
                continue;
            std::int64_t count = 1;
            for (const std::int64_t size : tensor.spec.shape)
                count *= size;
            for (std::int64_t layer = 0; layer < tensor.copies; ++layer) {
                const std::string name = concreteName(tensor.spec.name, layer);
                std::vector<float> values(static_cast<std::size_t>(count));
                engine::Generator::values(seed, name, tensor.fill.mean, tensor.fill.deviation).fill(0, count, values.data());
                weights[name] = { values.begin(), values.end() };
            }
        }
    }

    std::map<std::string, std::vector<double>> weights;

    /// The mean over the tokens of all sequences.
    double loss(const Matrix& tokens, const Matrix& targets) const
    {
        double sum = 0;
        for (std::size_t i = 0; i < tokens.size(); ++i)
            sum += lossOfSequence(tokens[i], targets[i]);
        return sum / static_cast<double>(tokens.size() * tokens.front().size());
    }

private:
    const std::vector<double>& weight(const std::string& name) const { return weights.at("model." + name); }

    Matrix normed(Matrix rows, const std::vector<double>& gamma) const
    {
        for (auto& row : rows) {
            double squares = 0;
            for (const double value : row)
                squares += value * value;
            const double factor = 1 / std::sqrt(squares / static_cast<double>(row.size()) + m_model.norm.epsilon);
            for (std::size_t i = 0; i < row.size(); ++i)
                row[i] *= factor * gamma[i];
        }
        return rows;
    }

    static Matrix product(const Matrix& x, const std::vector<double>& weight)
    {
        const std::size_t in = x.front().size();
        Matrix out(x.size(), std::vector<double>(weight.size() / in, 0));
        for (std::size_t r = 0; r < x.size(); ++r)
            for (std::size_t o = 0; o < out[r].size(); ++o)
                for (std::size_t i = 0; i < in; ++i)
                    out[r][o] += x[r][i] * weight[o * in + i];
        return out;
    }

    Matrix linear(const Matrix& x, const std::string& name) const
    {
        Matrix out = product(x, weight(name + ".weight"));
        if (const auto bias = weights.find("model." + name + ".bias"); bias != weights.end())
            for (auto& row : out)
                for (std::size_t i = 0; i < row.size(); ++i)
                    row[i] += bias->second[i];
        return out;
    }

    /// One head of all positions, normalised where the model does so, and rotated.
    Matrix head(const Matrix& x, std::int64_t number, const std::string& norm, bool rotate) const
    {
        const auto d = static_cast<std::size_t>(m_model.headDim);
        Matrix out;
        for (const auto& row : x) {
            const auto first = row.begin() + number * m_model.headDim;
            out.emplace_back(first, first + m_model.headDim);
        }
        if (rotate && m_model.qkNorm)
            out = normed(out, weight(norm + ".weight"));
        for (std::size_t position = 0; rotate && position < out.size(); ++position)
            for (std::size_t i = 0; i < d / 2; ++i) {
                const double angle = static_cast<double>(position)
                    * std::pow(m_model.ropeTheta, -2.0 * static_cast<double>(i) / static_cast<double>(d));
                const double a = out[position][i];
                const double b = out[position][i + d / 2];
                out[position][i] = a * std::cos(angle) - b * std::sin(angle);
                out[position][i + d / 2] = a * std::sin(angle) + b * std::cos(angle);
            }
        return out;
    }

    Matrix attention(const Matrix& x, const std::string& layer) const
    {
        const Matrix q = linear(x, layer + "self_attn.q_proj");
        const Matrix k = linear(x, layer + "self_attn.k_proj");
        const Matrix v = linear(x, layer + "self_attn.v_proj");
        Matrix out(x.size());
        for (std::int64_t number = 0; number < m_model.heads; ++number) {
            const std::int64_t kv = number / (m_model.heads / m_model.kvHeads);
            const Matrix queries = head(q, number, layer + "self_attn.q_norm", true);
            const Matrix keys = head(k, kv, layer + "self_attn.k_norm", true);
            const Matrix values = head(v, kv, "", false);
            for (std::size_t s = 0; s < x.size(); ++s) {
                std::vector<double> sum(values.front().size(), 0);
                double total = 0;
                for (std::size_t c = 0; c <= s; ++c) {
                    double score = 0;
                    for (std::size_t i = 0; i < queries[s].size(); ++i)
                        score += queries[s][i] * keys[c][i];
                    const double p = std::exp(score / std::sqrt(static_cast<double>(m_model.headDim)));
                    total += p;
                    for (std::size_t i = 0; i < sum.size(); ++i)
                        sum[i] += p * values[c][i];
                }
                for (const double value : sum)
                    out[s].push_back(value / total);
            }
        }
        return linear(out, layer + "self_attn.o_proj");
    }

    Matrix mlp(const Matrix& x, const std::string& layer) const
    {
        Matrix gate = linear(x, layer + "mlp.gate_proj");
        const Matrix up = linear(x, layer + "mlp.up_proj");
        for (std::size_t r = 0; r < gate.size(); ++r)
            for (std::size_t i = 0; i < gate[r].size(); ++i) {
                const double g = gate[r][i];
                const double active =
                    m_model.activation == "silu" ? g / (1 + std::exp(-g)) : g / 2 * (1 + std::erf(g / std::sqrt(2.0)));
                gate[r][i] = active * up[r][i];
            }
        return linear(gate, layer + "mlp.down_proj");
    }

    static void add(const Matrix& x, Matrix& sum)
    {
        for (std::size_t r = 0; r < x.size(); ++r)
            for (std::size_t i = 0; i < x[r].size(); ++i)
                sum[r][i] += x[r][i];
    }

    double lossOfSequence(const std::vector<double>& tokens, const std::vector<double>& targets) const
    {
        const std::vector<double>& table = weight("embed_tokens.weight");
        Matrix x;
        for (const double token : tokens) {
            const auto first = table.begin() + static_cast<std::ptrdiff_t>(token) * m_model.hiddenSize;
            x.emplace_back(first, first + m_model.hiddenSize);
        }
        for (std::int64_t number = 0; number < m_model.layers; ++number) {
            const std::string layer = "layers." + std::to_string(number) + ".";
            add(attention(normed(x, weight(layer + "input_layernorm.weight")), layer), x);
            add(mlp(normed(x, weight(layer + "post_attention_layernorm.weight")), layer), x);
        }
        const Matrix logits =
            product(normed(x, weight("norm.weight")), m_model.tiedEmbeddings ? table : weights.at("lm_head.weight"));
        double sum = 0;
        for (std::size_t s = 0; s < logits.size(); ++s) {
            double total = 0;
            for (const double logit : logits[s])
                total += std::exp(logit);
            sum += std::log(total) - logits[s][static_cast<std::size_t>(targets[s])];
        }
        return sum;
    }

    ModelSpec m_model;
};

} // namespace shardboard::test
