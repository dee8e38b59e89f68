// SPDX-License-Identifier: Apache-2.0
#include "model/design/presets/looseweights.h"

#include "model/design/quantblocks.h"
#include "model/text/contains.h"
#include "model/text/text.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace shardboard {

namespace {

enum class WeightRole { Column, Row, Table, Norm, Other };

/// The parts of a name without numbers and the last word of a parameter: `layers`, `mlp`, `up_proj`.
std::vector<std::string_view> wordsOf(std::string_view name)
{
    std::vector<std::string_view> words = split(name, '.');
    if (words.size() > 1 && contains({ "weight", "bias", "weight_packed", "qweight" }, words.back()))
        words.pop_back();
    std::erase_if(words, [](std::string_view word) {
        return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
    });
    return words;
}

/// Every run of digits between dots as a star.
std::string starred(const std::string& name)
{
    std::string out;
    for (const std::string_view part : split(name, '.')) {
        const bool number = !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
        out += (out.empty() ? "" : ".") + (number ? std::string("*") : std::string(part));
    }
    return out;
}

WeightRole roleOf(std::string_view name)
{
    const auto words = wordsOf(name);
    const std::string_view last = words.empty() ? std::string_view() : words.back();
    const std::string_view before = words.size() > 1 ? words[words.size() - 2] : std::string_view();
    if (last.find("norm") != std::string_view::npos || contains({ "ln_1", "ln_2", "ln_f", "ln", "ln1", "ln2" }, last))
        return WeightRole::Norm;
    if (contains({ "embed_tokens", "wte", "word_embeddings", "tok_embeddings", "embed_in", "embed_out", "lm_head", "embedding",
                   "embeddings", "shared", "word_embedding" },
                 last)
        || (last == "output" && words.size() <= 2))
        return WeightRole::Table;
    if ((last == "dense" && before == "output") || contains({ "to_out", "net_2" }, last) || (before == "to_out"))
        return WeightRole::Row;
    if ((last == "dense" && before == "intermediate") || (last == "proj" && before == "net")) // diffusers' ff.net.0.proj, ff.net.2
        return WeightRole::Column;
    if (last == "net" && (before == "ff" || before == "ff_context" || before == "ffn"))
        return WeightRole::Row;
    if (contains({ "o_proj", "out_proj", "dense", "c_proj", "dense_4h_to_h", "down_proj", "w2", "fc2", "wo", "linear_fc2",
                   "output_linear", "linear_proj", "proj_out", "linear_2", "to_add_out" },
                 last))
        return WeightRole::Row;
    if (contains({ "q_proj",
                   "k_proj",
                   "v_proj",
                   "qkv_proj",
                   "qkv",
                   "query",
                   "key",
                   "value",
                   "query_key_value",
                   "c_attn",
                   "Wqkv",
                   "wq",
                   "wk",
                   "wv",
                   "wqkv",
                   "W_pack",
                   "gate_proj",
                   "up_proj",
                   "gate_up_proj",
                   "fc1",
                   "c_fc",
                   "dense_h_to_4h",
                   "w1",
                   "w3",
                   "wi",
                   "wi_0",
                   "wi_1",
                   "in_proj",
                   "in_proj_qkv",
                   "in_proj_z",
                   "in_proj_qkvz",
                   "in_proj_ba",
                   "in_proj_a",
                   "in_proj_b",
                   "to_q",
                   "to_k",
                   "to_v",
                   "add_q_proj",
                   "add_k_proj",
                   "add_v_proj",
                   "proj_mlp",
                   "linear_fc1",
                   "linear_qkv",
                   "input_linear",
                   "q_b_proj",
                   "kv_b_proj",
                   "linear_1" },
                 last))
        return WeightRole::Column;
    return WeightRole::Other;
}

class Recognizer {
public:
    explicit Recognizer(const ModelSpec& model)
        : m_model(model)
    {
        std::map<std::int64_t, std::size_t> sizes;
        for (const ModelSpec::LooseWeight& weight : model.looseWeights)
            if (!weight.unknownShape && weight.tensor.shape.size() == 1 && roleOf(weight.tensor.name) == WeightRole::Norm)
                ++sizes[weight.tensor.shape.front()];
        std::size_t most = 0;
        for (const auto& [size, count] : sizes)
            if (count >= most) { // of equal ones the largest
                most = count;
                m_hidden = size;
            }
    }

    RecognizedWeights read()
    {
        std::map<std::string, const TensorSpec*> first;
        std::map<std::string, bool> differ;
        for (const ModelSpec::LooseWeight& weight : m_model.looseWeights) {
            if (weight.unknownShape)
                continue;
            const auto [found, fresh] = first.emplace(starred(weight.tensor.name), &weight.tensor);
            if (!fresh && found->second->shape != weight.tensor.shape)
                differ[found->first] = true;
        }
        std::map<std::string, bool> done;
        std::map<std::size_t, std::vector<std::int64_t>> blocks;
        for (ScaledWeight& scaled : scaledWeights(m_model))
            blocks[scaled.weight] = std::move(scaled.block);
        for (std::size_t i = 0; i < m_model.looseWeights.size(); ++i) {
            const ModelSpec::LooseWeight& weight = m_model.looseWeights[i];
            if (weight.unknownShape)
                continue;
            ++m_out.known;
            const std::string pattern = starred(weight.tensor.name);
            TensorSpec spec = weight.tensor;
            const bool told = label(spec);
            m_out.recognized += told ? 1 : 0;
            const bool alone = differ.contains(pattern);
            if (!alone && !done.emplace(pattern, told).second)
                continue;
            if (!told && spec.shape.size() > 1 && m_out.examples.size() < 4)
                m_out.examples.push_back(pattern);
            if (!alone)
                spec.name = pattern;
            if (const auto block = blocks.find(i); block != blocks.end())
                spec.grains = block->second; // quantized in blocks, each with a scale
            m_out.weights.push_back(std::move(spec));
        }
        return std::move(m_out);
    }

private:
    /// Fills labels and logical names; false where it is not known what the weight is.
    bool label(TensorSpec& spec) const
    {
        const std::size_t dims = spec.shape.size();
        spec.dimLabels.assign(dims, "");
        spec.logicalNames.assign(dims, "");
        WeightRole part = roleOf(spec.name);
        if (dims == 1)
            return vector(spec, part);
        if (dims == 0 || dims > 3 || part == WeightRole::Norm)
            return false;
        const std::size_t out = dims - 2; // of the matrix that the last two dims are
        if (dims == 3) {
            if (spec.name.find("expert") == std::string::npos && spec.name.find("moe") == std::string::npos)
                return false; // a convolution
            spec.dimLabels[0] = "experts";
            spec.logicalNames[0] = "exp";
        }
        const bool outHidden = spec.shape[out] == m_hidden;
        const bool inHidden = spec.shape[out + 1] == m_hidden;
        if (part == WeightRole::Other && outHidden != inHidden && !isSmall(spec.name))
            part = inHidden ? WeightRole::Column : WeightRole::Row;
        if (part == WeightRole::Other)
            return dims == 3;
        if (part == WeightRole::Table) {
            const std::size_t rows = outHidden && !inHidden ? 1 : 0;
            spec.dimLabels[rows] = "vocabulary";
            spec.dimLabels[1 - rows] = "hidden";
            spec.logicalNames[rows] = "vocab";
            return true;
        }
        // The dim that is not the hidden one is cut, whichever way the matrix is stored.
        std::size_t cut = part == WeightRole::Column ? out : out + 1;
        if (outHidden != inHidden)
            cut = outHidden ? out + 1 : out;
        const std::size_t other = cut == out ? out + 1 : out;
        spec.dimLabels[cut] = part == WeightRole::Column ? "out (inner)" : "in (inner)";
        spec.dimLabels[other] = part == WeightRole::Column ? "in (hidden)" : "out (hidden)";
        spec.logicalNames[cut] = dims == 3 ? "mlp_moe" : "mlp";
        return true;
    }

    /// Biases of what is cut by its rows are cut, too; norms and other biases are whole.
    bool vector(TensorSpec& spec, WeightRole part) const
    {
        if (part == WeightRole::Norm || spec.shape.front() == m_hidden)
            return true;
        if (part != WeightRole::Column || !spec.name.ends_with("bias"))
            return false;
        spec.dimLabels[0] = "out (inner)";
        spec.logicalNames[0] = "mlp";
        return true;
    }

    /// Routers and gates are needed whole.
    static bool isSmall(const std::string& name)
    {
        return name.find("router") != std::string::npos || name.find("gate.") != std::string::npos
            || name.find("position") != std::string::npos || name.find("embed") != std::string::npos;
    }

    const ModelSpec& m_model;
    std::int64_t m_hidden = 0;
    RecognizedWeights m_out;
};

} // namespace

RecognizedWeights recognizedWeights(const ModelSpec& model) { return Recognizer(model).read(); }

} // namespace shardboard
