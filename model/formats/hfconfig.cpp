// SPDX-License-Identifier: Apache-2.0
#include "model/formats/hfconfig.h"

#include "model/formats/checkpointfinding.h"
#include "model/formats/designfile.h"
#include "model/formats/jsonfields.h"
#include "model/formats/jsontext.h"
#include "model/formats/safetensors.h"

#include <array>
#include <optional>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr std::int64_t kLargest = std::int64_t { 1 } << 31;

/// A family whose decoder we build, with the defaults of its configuration class: what a `text_config`, which lists
/// only what differs from them, leaves out.
struct Family {
    const char* type;
    const char* className; ///< beginning of `architectures` where `model_type` is missing
    std::int64_t vocab, hidden, intermediate, layers, heads;
    std::int64_t kvHeads; ///< 0: as many as heads
    std::int64_t headDim; ///< 0: hidden / heads
};

constexpr std::array kFamilies {
    Family { "llama", "Llama", 32000, 4096, 11008, 32, 32, 0, 0 },
    Family { "mistral", "Mistral", 32000, 4096, 14336, 32, 32, 8, 0 },
    Family { "qwen2", "Qwen2", 151936, 4096, 22016, 32, 32, 0, 0 },
    Family { "qwen3", "Qwen3", 151936, 4096, 22016, 32, 32, 0, 128 },
};

const Family* familyOf(const std::string& type)
{
    for (const Family& family : kFamilies)
        if (type == family.type)
            return &family;
    return nullptr;
}

/// `model_type`, or what the class name in `architectures` says.
std::string typeOf(JsonFields& fields)
{
    const std::string type = fields.text("model_type", "");
    const json* classes = fields.find("architectures");
    if (!type.empty() || !classes || !classes->is_array() || classes->empty() || !classes->front().is_string())
        return type;
    const auto name = classes->front().get<std::string>();
    for (const Family& family : kFamilies)
        for (const char* ending : { "ForCausalLM", "Model" })
            if (name == std::string(family.className) + ending)
                return family.type;
    return name;
}

bool hasExperts(JsonFields& fields)
{
    for (const char* key : { "num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts" })
        if (const json* value = fields.find(key); value && value->is_number() && value->get<double>() > 1)
            return true;
    return false;
}

class ConfigReader {
public:
    ConfigReader(const json& top, const json& text, const std::string& file, bool wrapped)
        : m_file(file)
        , m_top(top, file, "")
        , m_fields(text, file, wrapped ? "text_config" : "")
    {
        m_out.wrapped = wrapped;
        m_top.nullIsAbsent();
        m_fields.nullIsAbsent();
    }

    Result<ConfigModel> read()
    {
        const std::string type = typeOf(m_fields);
        m_out.model.family = type;
        const Family* family = familyOf(type);
        if (m_fields.error())
            return *m_fields.error();
        readDtype();
        noteQuantization();
        if (!family) {
            refuseFamily(type);
            return std::move(m_out);
        }
        readSizes(*family);
        readFlags(*family);
        readRope();
        readActivation();
        if (const auto& error = m_fields.error() ? m_fields.error() : m_top.error())
            return *error;
        if (m_out.model.hasGraph())
            if (const auto status = verifyModel(m_out.model, m_fields.place()); !status.ok())
                return status.error();
        return std::move(m_out);
    }

private:
    void note(const std::string& kind, Severity severity, const std::string& message, const std::string& repair = {})
    {
        m_out.findings.push_back(checkpointFinding(kind, severity, m_file, message, repair));
    }

    void refuseFamily(const std::string& type)
    {
        ModelSpec& model = m_out.model;
        if (type.empty())
            model.notUnderstood = "config.json names no model_type, so the operations of the model are not known";
        else
            model.notUnderstood = "model_type " + type + (hasExperts(m_fields) ? ", a mixture of experts," : "")
                + " is not understood yet, so its operations are not known";
    }

    /// A size that has to be there; in a text_config the default of the class, and a note about it.
    std::int64_t size(const std::string& key, std::int64_t fallback)
    {
        if (!m_out.wrapped || m_fields.find(key))
            return m_fields.integer(key, 1, kLargest);
        note("config", Severity::Note,
             "text_config leaves out " + key + "; " + std::to_string(fallback) + ", the default of its class, is used");
        return fallback;
    }

    void readSizes(const Family& family)
    {
        ModelSpec& model = m_out.model;
        model.vocabSize = size("vocab_size", family.vocab);
        model.hiddenSize = size("hidden_size", family.hidden);
        model.intermediateSize = size("intermediate_size", family.intermediate);
        model.layers = size("num_hidden_layers", family.layers);
        model.heads = size("num_attention_heads", family.heads);
        model.kvHeads = m_fields.integer("num_key_value_heads", 1, kLargest, kvHeadsFallback(family));
        if (m_fields.find("head_dim")) {
            model.headDim = m_fields.integer("head_dim", 1, kLargest);
        } else if (family.headDim > 0 && !m_fields.holds("head_dim")) {
            model.headDim = family.headDim;
        } else {
            model.headDim = model.hiddenSize / model.heads;
            if (model.hiddenSize % model.heads != 0)
                m_fields.fail("num_attention_heads",
                              "hidden_size " + std::to_string(model.hiddenSize) + " does not divide into "
                                  + std::to_string(model.heads) + " heads",
                              "correct one of them, or set head_dim");
        }
    }

    /// A null means as many as query heads; Mistral's class has a number of its own where the key is absent.
    std::int64_t kvHeadsFallback(const Family& family)
    {
        return family.kvHeads > 0 && !m_fields.holds("num_key_value_heads") ? family.kvHeads : m_out.model.heads;
    }

    void readFlags(const Family& family)
    {
        ModelSpec& model = m_out.model;
        const std::string type = family.type;
        JsonFields& tied = m_fields.find("tie_word_embeddings") ? m_fields : m_top;
        m_out.saysTied = tied.find("tie_word_embeddings") != nullptr;
        model.tiedEmbeddings = tied.flag("tie_word_embeddings", false);
        model.qkNorm = type == "qwen3";
        if (type == "qwen2")
            model.attentionBias = AttentionBias::Qkv;
        else if ((type == "llama" || type == "qwen3") && m_fields.flag("attention_bias", false))
            model.attentionBias = AttentionBias::Qkvo;
        model.mlpBias = type == "llama" && m_fields.flag("mlp_bias", false);
        model.rmsNormEps = m_fields.number("rms_norm_eps", 0, 1, 1e-6);
        const bool windowOn = type == "mistral" || m_fields.flag("use_sliding_window", false);
        if (m_fields.find("sliding_window") && windowOn)
            note("not-in-graph", Severity::Note,
                 "attention is limited to a sliding window; the graph computes it over all tokens");
    }

    void readRope()
    {
        ModelSpec& model = m_out.model;
        const json* parameters = m_fields.find("rope_parameters");
        const json* scaling = m_fields.find("rope_scaling");
        model.ropeTheta = 10000.0;
        if (parameters && parameters->is_object()) {
            JsonFields rope(*parameters, m_file, "rope_parameters");
            rope.nullIsAbsent();
            model.ropeTheta = rope.number("rope_theta", 1e-3, 1e18, model.ropeTheta);
            if (rope.error())
                m_fields.adopt(*rope.error());
            scaling = rope.text("rope_type", "default") == "default" ? scaling : parameters;
        }
        model.ropeTheta = m_fields.number("rope_theta", 1e-3, 1e18, model.ropeTheta);
        if (scaling && scaling->is_object() && !scaling->empty())
            note(
                "not-in-graph", Severity::Note,
                "rotary embedding is scaled for long texts (rope_scaling); the graph uses the plain one, which changes "
                "numbers but no shapes and no collectives");
    }

    void readActivation()
    {
        const std::string name = m_fields.text("hidden_act", "silu");
        if (name == "silu" || name == "swish")
            m_out.model.activation = "silu";
        else if (name.starts_with("gelu"))
            m_out.model.activation = "gelu";
        else
            m_out.model.notUnderstood = "the activation '" + name + "' is not understood yet";
    }

    void readDtype()
    {
        for (JsonFields* fields : { &m_fields, &m_top })
            for (const char* key : { "torch_dtype", "dtype" }) {
                const json* value = fields->find(key);
                if (!value || m_out.saysDtype)
                    continue;
                const auto type = value->is_string() ? dtypeFromName(value->get<std::string>()) : std::nullopt;
                if (type)
                    m_out.model.dtype = *type;
                else
                    note("config", Severity::Note, std::string(key) + " is not a type that is known; it is ignored");
                m_out.saysDtype = type.has_value();
            }
    }

    void noteQuantization()
    {
        for (JsonFields* fields : { &m_fields, &m_top }) {
            const json* value = fields->find("quantization_config");
            if (!value || !value->is_object() || m_out.quantized)
                continue;
            m_out.quantized = true;
            const auto method = value->find("quant_method");
            const std::string name
                = method != value->end() && method->is_string() ? method->get<std::string>() : "unnamed";
            note("quantized", Severity::Warning,
                 "the weights are quantised (" + name + "); the graph shows them unquantised, as "
                     + dtypeName(m_out.model.dtype),
                 "set --dtype to what you will run");
        }
    }

    std::string m_file;
    JsonFields m_top;
    JsonFields m_fields;
    ConfigModel m_out;
};

} // namespace

Result<ConfigModel> modelFromConfig(const json& config, const std::string& file)
{
    if (!config.is_object())
        return inputError(file, "is not an object", "give the config.json of a model");
    const auto inner = config.find("text_config");
    const bool wrapped = inner != config.end() && inner->is_object();
    return ConfigReader(config, wrapped ? *inner : config, file, wrapped).read();
}

Result<ConfigModel> readConfig(const std::string& path)
{
    auto text = readTextFile(path, std::size_t { 16 } << 20);
    if (!text.ok())
        return text.error();
    if (const auto pointer = lfsPointerFromText(text.value()))
        return lfsPointerError(path, *pointer);
    JsonLimits limits;
    limits.lastDuplicateWins = limits.pythonNumbers = true; // Python wrote it and reads it so
    const auto document = parseJson(text.value(), path, limits);
    if (!document.ok())
        return document.error();
    return modelFromConfig(document.value(), path);
}

} // namespace shardboard
