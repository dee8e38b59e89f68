// SPDX-License-Identifier: Apache-2.0
#include "model/io/checkpoint/comparecheckpoint.h"

#include "model/io/file/naturalorder.h"
#include "model/io/huggingface/quantization.h"
#include "model/io/safetensors/checkpointfinding.h"
#include "model/text/glob.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

namespace shardboard {

namespace {

/// Names of which only the layer number differs are one group: `model.layers.*.mlp.up_proj.SCB (32)`.
class NameGroups {
public:
    void add(const std::string& name, const std::string& remark = {}, std::int64_t count = 1)
    {
        m_groups[starred(name) + remark] += count;
        m_count += count;
    }
    std::int64_t count() const { return m_count; }
    std::string counted() const { return std::to_string(m_count) + (m_count == 1 ? " tensor" : " tensors"); }
    std::string text() const
    {
        std::string out;
        int shown = 0;
        for (const auto& [name, count] : m_groups) {
            if (++shown > 3)
                return out + ", ...";
            out += (out.empty() ? "" : ", ") + name + (count > 1 ? " (" + std::to_string(count) + " times)" : "");
        }
        return out;
    }

private:
    static bool isNumber(std::string_view part)
    {
        return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
    }
    static std::string starred(const std::string& name)
    {
        std::string out;
        for (const std::string_view part : split(name, '.'))
            out += (out.empty() ? "" : ".") + (isNumber(part) ? std::string("*") : std::string(part));
        return out;
    }
    struct Order {
        bool operator()(const std::string& a, const std::string& b) const { return naturalLess(a, b); }
    };
    std::map<std::string, std::int64_t, Order> m_groups;
    std::int64_t m_count = 0;
};

bool isQuantizationCompanion(const std::string& name)
{
    constexpr std::array kEndings { ".SCB",
                                    ".weight_format",
                                    ".qweight",
                                    ".qzeros",
                                    ".scales",
                                    ".g_idx",
                                    ".weight_scale",
                                    ".weight_scale_inv",
                                    ".weight_zero_point",
                                    ".weight_packed",
                                    ".weight_shape",
                                    ".input_scale",
                                    ".output_scale",
                                    ".k_scale",
                                    ".v_scale",
                                    ".absmax",
                                    ".quant_map",
                                    ".nested_absmax",
                                    ".nested_quant_map",
                                    ".zeros",
                                    ".weight_scale_2",
                                    ".biases",
                                    "_blocks",
                                    "_scales" };
    return name.find(".quant_state.") != std::string::npos
        || std::ranges::any_of(kEndings, [&](const char* ending) { return name.ends_with(ending); });
}

bool isBuffer(const std::string& name)
{
    return name.ends_with(".inv_freq") || name.ends_with(".masked_bias") || name.ends_with(".attention.bias");
}

class Comparison {
public:
    Comparison(const Checkpoint& checkpoint, const ModelSpec& model, const Graph& graph, const CompareOptions& options)
        : m_checkpoint(checkpoint)
        , m_model(model)
        , m_graph(graph)
        , m_options(options)
        , m_weights(graph.storedWeights())
    {
        for (const GraphTensor& tensor : m_weights)
            m_expected.emplace(tensor.spec.name, Expected { &tensor, {} });
    }

    CheckpointComparison run()
    {
        for (std::size_t i = 0; i < m_checkpoint.tensors.size(); ++i) {
            const CheckpointTensor& tensor = m_checkpoint.tensors[i];
            Expected* expected = find(tensor.name);
            if (expected == nullptr && m_options.quantized)
                if (const std::string weight = packedWeightOf(tensor.name); !weight.empty())
                    expected = find(weight);
            if (expected != nullptr)
                compare(tensor, *expected);
            else
                takeExtra(tensor.name, i);
        }
        takeMissing();
        for (const auto& [name, counts] : m_packedOf)
            if (counts.plain > counts.packed)
                m_out.plain.push_back({ name, {}, {} });
        reportNames();
        reportContents();
        return std::move(m_out);
    }

private:
    struct Expected {
        const GraphTensor* tensor = nullptr;
        std::set<std::int64_t> seen; ///< numbers of what the checkpoint has: layer (0 outside layers) * pieces + piece
    };

    /// A part of a name that is a number.
    struct Number {
        std::size_t begin = 0;
        std::size_t size = 0;
        std::int64_t value = 0;
    };
    static std::vector<Number> numbersIn(const std::string& name)
    {
        std::vector<Number> out;
        std::size_t begin = 0;
        for (const std::string_view part : split(name, '.')) {
            if (const auto value = parseInteger(part); value && *value >= 0 && std::to_string(*value) == part)
                out.push_back({ begin, part.size(), *value });
            begin += part.size() + 1;
        }
        return out;
    }

    /// The graph's tensor of that name; marks the layer, and the expert that it is a piece for, as seen.
    Expected* find(const std::string& name)
    {
        if (const auto found = m_expected.find(name); found != m_expected.end() && name.find('*') == name.npos) {
            found->second.seen.insert(0);
            return &found->second;
        }
        const std::vector<Number> numbers = numbersIn(name);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const Number& layer = numbers[i];
            if (Expected* found = take(starred(name, { layer }), layer.value, 0, 1))
                return found;
            for (std::size_t k = i + 1; k < numbers.size(); ++k)
                if (Expected* found = take(starred(name, { layer, numbers[k] }), layer.value, numbers[k].value, 2))
                    return found;
        }
        return headUnderAnotherName(name);
    }

    static std::string starred(const std::string& name, const std::vector<Number>& numbers)
    {
        std::string out = name;
        for (std::size_t i = numbers.size(); i-- > 0;)
            out.replace(numbers[i].begin, numbers[i].size, "*");
        return out;
    }

    Expected* take(const std::string& name, std::int64_t layer, std::int64_t piece, std::int64_t stars)
    {
        auto [found, end] = m_expected.equal_range(name);
        while (found != end && !hasLayer(*found->second.tensor, layer)) // dense layers and those with experts share names
            ++found;
        if (found == end)
            return nullptr;
        const std::int64_t pieces = found->second.tensor->pieces;
        if ((stars == 1 && pieces != 1) || piece >= pieces)
            return nullptr;
        found->second.seen.insert(layer * pieces + piece);
        return &found->second;
    }

    bool hasLayer(const GraphTensor& tensor, std::int64_t layer) const
    {
        const Segment& segment = m_graph.segment(tensor.segment);
        return segment.isLayer && layer >= segment.firstLayer && layer < segment.firstLayer + tensor.copies;
    }

    /// Models that wrap a decoder put the head on either side of the wrapper.
    Expected* headUnderAnotherName(const std::string& name)
    {
        if (!m_options.wrapped || !name.ends_with("lm_head.weight"))
            return nullptr;
        for (auto& [expectedName, expected] : m_expected)
            if (expectedName.ends_with("lm_head.weight") && expected.seen.empty()) {
                expected.seen.insert(0);
                return &expected;
            }
        return nullptr;
    }

    void compare(const CheckpointTensor& stored, const Expected& expected)
    {
        if (!stored.shapeKnown)
            return;
        ++m_compared;
        Shape wanted = expected.tensor->spec.shape;
        if (expected.tensor->pieces > 1)
            wanted.erase(wanted.begin());
        if (const WeightPacking& packing = expected.tensor->spec.packing; packing.present()) {
            const bool plain = stored.shape == wanted && bitsOf(stored.dtype) >= 16;
            auto& counts = m_packedOf[expected.tensor->spec.name];
            ++(plain ? counts.plain : counts.packed);
            if (!plain)
                return comparePacked(stored, wanted, packing);
        }
        Shape bare = stored.shape; // Ernie stores biases of routers as [1, experts]
        while (bare.size() > wanted.size() && bare.front() == 1)
            bare.erase(bare.begin());
        while (bare.size() > wanted.size() && bare.back() == 1)
            bare.pop_back();
        if (m_model.moe.storage == ExpertStorage::Flat && wanted.size() == 3 && bare.size() == 2)
            wanted = { wanted[0] * wanted[1], wanted[2] };
        // Norms of each head, which are flat in the graph.
        if (const auto& grains = expected.tensor->spec.grains; m_model.headNorms && wanted.size() == 1 && grains.size() == 1)
            if (bare == Shape { wanted[0] / grains[0], grains[0] })
                bare = wanted;
        if (bare != wanted)
            m_shapes.add(stored.name, ": " + shapeText(stored.shape) + " stored, " + shapeText(wanted) + " in the graph");
        if (stored.dtype != m_model.dtype)
            m_types.add(stored.name, " " + dtypeName(stored.dtype));
    }

    /// Packed numbers have other shapes, and as many bits.
    void comparePacked(const CheckpointTensor& stored, const Shape& wanted, const WeightPacking& packing)
    {
        const auto bits = static_cast<double>(elementCount(stored.shape).value_or(0)) * bitsOf(stored.dtype);
        const auto elements = static_cast<double>(elementCount(wanted).value_or(0));
        if (packing.bits > 0 && std::abs(bits - elements * packing.bits) > 0.01 * bits)
            m_shapes.add(stored.name,
                         ": " + shapeText(stored.shape) + " of " + dtypeName(stored.dtype) + " stored, which is not "
                             + shapeText(wanted) + " of " + std::to_string(static_cast<std::int64_t>(packing.bits)) + " bits");
    }

    /// Of a tower for pictures or sounds, and what joins it to the decoder.
    static bool isOtherPart(const std::string& name)
    {
        constexpr std::array kWords { "vision",    "visual",  "image",       "audio", "projector",
                                      "connector", "aligner", "multi_modal", "vit_" };
        return std::ranges::any_of(kWords, [&](const char* word) { return name.find(word) != std::string::npos; });
    }

    void takeExtra(const std::string& name, std::size_t index)
    {
        if (const bool other = m_options.wrapped && !name.starts_with(m_model.weightPrefix) && !name.ends_with("lm_head.weight");
            (other || isOtherPart(name)) && !isBuffer(name)) {
            m_others.add(name.substr(0, name.find('.', name.starts_with("model.") ? 6 : 0)));
            m_out.beside.push_back(index);
            return;
        }
        if (std::ranges::any_of(m_options.stored, [&](const std::string& pattern) { return globMatch(pattern, name); }))
            m_out.beside.push_back(index);
        else if (isQuantizationCompanion(name))
            m_companions.add(name);
        else if (isBuffer(name))
            m_buffers.add(name);
        else if (m_model.tiedEmbeddings && name.ends_with("lm_head.weight"))
            m_tied.add(name);
        else if (isBeyondTheLayers(name))
            m_beyond.add(name);
        else if (std::ranges::any_of(m_options.beside, [&](const std::string& pattern) { return globMatch(pattern, name); }))
            m_beside.add(name);
        else
            m_extra.add(name);
    }

    /// DeepSeek's checkpoints have more layers behind the last one, which predict further tokens.
    bool isBeyondTheLayers(const std::string& name) const
    {
        const std::string prefix = m_model.weightPrefix + m_model.nameOf("layers") + ".";
        if (!m_model.moe.present() || !name.starts_with(prefix))
            return false;
        const auto layer =
            parseInteger(std::string_view(name).substr(prefix.size(), name.find('.', prefix.size()) - prefix.size()));
        return layer && *layer >= m_model.layers;
    }

    void takeMissing()
    {
        for (const auto& [name, expected] : m_expected) {
            const GraphTensor& tensor = *expected.tensor;
            const std::int64_t missing = tensor.copies * tensor.pieces - static_cast<std::int64_t>(expected.seen.size());
            if (missing == 1 && tensor.copies * tensor.pieces > 1)
                m_missing.add(name, firstAbsent(expected));
            else if (missing > 0)
                m_missing.add(name, "", missing);
        }
    }

    /// ` (layer 7)`, ` (layer 7, expert 3)`
    std::string firstAbsent(const Expected& expected) const
    {
        const std::int64_t pieces = expected.tensor->pieces;
        std::int64_t number = m_graph.segment(expected.tensor->segment).firstLayer * pieces;
        while (expected.seen.contains(number))
            ++number;
        return " (layer " + std::to_string(number / pieces)
            + (pieces > 1 ? ", expert " + std::to_string(number % pieces) : std::string()) + ")";
    }

    void add(const std::string& kind, Severity severity, const std::string& message, const std::string& repair = {})
    {
        m_out.findings.push_back(checkpointFinding(kind, severity, m_checkpoint.place, message, repair));
    }

    void reportNames()
    {
        if (m_missing.count() > 0)
            add("checkpoint-missing", isUnclear() ? Severity::Warning : Severity::Error,
                m_missing.counted() + " of the graph not in the checkpoint: " + m_missing.text(),
                isUnclear() ? "quantized weights may be stored under other names"
                            : "check that config.json and weights belong together");
        if (m_extra.count() > 0)
            add("checkpoint-extra", Severity::Warning, m_extra.counted() + " of the checkpoint not in the graph: " + m_extra.text(),
                "they are not shown and not counted");
        if (m_companions.count() > 0)
            add("quantized", m_options.quantized ? Severity::Note : Severity::Warning,
                m_companions.counted() + " alongside the weights from quantization, not in the graph: " + m_companions.text(),
                m_model.packed.empty() ? "they are not shown and not counted" : "scales and zero points count with their weights");
        if (m_buffers.count() > 0)
            add("checkpoint-extra", Severity::Note,
                m_buffers.counted() + " that can be computed again, not in the graph: " + m_buffers.text());
        if (m_beyond.count() > 0)
            add("not-in-graph", Severity::Note,
                m_beyond.counted() + " of layers that predict further tokens, not in the graph: " + m_beyond.text());
        if (m_beside.count() > 0)
            add("not-in-graph", Severity::Warning,
                m_beside.counted() + " that the family stores and the graph does not have: " + m_beside.text(),
                "they are not shown and not counted");
        if (m_tied.count() > 0)
            add("checkpoint-extra", Severity::Note,
                m_tied.text() + " is stored although the head is the embedding table (tie_word_embeddings)");
        if (m_others.count() > 0)
            add("not-in-graph", Severity::Note,
                m_others.counted() + " of other parts of the model, without operations: " + m_others.text(),
                "they are laid out, and count in memory, and not in the time");
    }

    void reportContents()
    {
        if (m_shapes.count() > 0)
            add("checkpoint-shape", isUnclear() ? Severity::Warning : Severity::Error,
                m_shapes.counted() + " of another shape: " + m_shapes.text(),
                isUnclear() ? "quantized weights may be packed" : "check that config.json and weights belong together");
        if (m_types.count() > 0 && !m_options.quantized)
            add("checkpoint-dtype", Severity::Note,
                m_types.counted() + " of another element type than " + dtypeName(m_model.dtype) + ": " + m_types.text());
        const bool plain = m_missing.count() == 0 && m_extra.count() == 0 && m_companions.count() == 0 && m_others.count() == 0
            && m_beyond.count() == 0 && m_beside.count() == 0 && m_buffers.count() == 0 && m_tied.count() == 0
            && m_types.count() == 0 && m_shapes.count() == 0 && m_out.beside.empty();
        if (!m_checkpoint.totalSize || m_options.quantized || !plain)
            return;
        const std::int64_t bytes = bytesOf(m_graph.parameterCount(), m_model.dtype);
        if (*m_checkpoint.totalSize != bytes)
            add("checkpoint-size", Severity::Warning,
                "the index says " + std::to_string(*m_checkpoint.totalSize) + " bytes in all, the graph has "
                    + std::to_string(bytes) + " as " + dtypeName(m_model.dtype),
                "check torch_dtype and the sizes in config.json");
    }

    /// Whether weights may be packed in a way that is not understood.
    bool isUnclear() const { return m_options.quantized && m_model.packed.empty(); }

    struct Counts {
        std::int64_t plain = 0;
        std::int64_t packed = 0;
    };

    const Checkpoint& m_checkpoint;
    const ModelSpec& m_model;
    const Graph& m_graph;
    CompareOptions m_options;
    std::vector<GraphTensor> m_weights; ///< as the checkpoint has them
    std::unordered_multimap<std::string, Expected> m_expected; ///< a name for each segment that has it
    NameGroups m_missing, m_extra, m_companions, m_buffers, m_tied, m_others, m_beyond, m_beside, m_shapes, m_types;
    std::int64_t m_compared = 0;
    std::map<std::string, Counts> m_packedOf; ///< of weights that are to be packed, how many are
    CheckpointComparison m_out;
};

} // namespace

CheckpointComparison compareCheckpoint(const Checkpoint& checkpoint, const ModelSpec& model, const Graph& graph,
                                       const CompareOptions& options)
{
    return Comparison(checkpoint, model, graph, options).run();
}

} // namespace shardboard
