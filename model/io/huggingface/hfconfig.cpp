// SPDX-License-Identifier: Apache-2.0
#include "model/io/huggingface/hfconfig.h"

#include "model/families/activation.h"
#include "model/families/window.h"
#include "model/io/file/textfile.h"
#include "model/io/huggingface/configfields.h"
#include "model/io/huggingface/hffamilies.h"
#include "model/io/json/jsontext.h"
#include "model/io/safetensors/checkpointfinding.h"
#include "model/io/safetensors/safetensors.h"

#include <algorithm>
#include <optional>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr std::int64_t kLargest = ConfigFields::kLargest;

/// `model_type`, or what the class name in `architectures` says.
std::string typeOf(JsonFields& fields)
{
    const std::string type = fields.text("model_type", "");
    const json* classes = fields.find("architectures");
    if (!type.empty() || !classes || !classes->is_array() || classes->empty() || !classes->front().is_string())
        return type;
    const auto& name = classes->front().get_ref<const std::string&>();
    return fields.isName("architectures", name) ? typeOfClass(name) : type;
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
        , m_config(text, file, wrapped)
        , m_fields(m_config.json())
    {
        m_out.wrapped = wrapped;
        m_top.nullIsAbsent();
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
            return finished();
        }
        readSizes(*family);
        readFlags(*family);
        readParts(*family);
        readRope(*family);
        readActivation();
        readWindow(*family);
        if (const auto& error = m_fields.error() ? m_fields.error() : m_top.error())
            return *error;
        if (const auto status = verifyModel(m_out.model, m_fields.place()); !status.ok())
            return status.error();
        return finished();
    }

private:
    ConfigModel finished()
    {
        m_out.findings = std::move(m_config.findings());
        return std::move(m_out);
    }

    void note(const std::string& kind, Severity severity, const std::string& message, const std::string& repair = {})
    {
        m_config.note(kind, severity, message, repair);
    }

    std::int64_t size(const std::string& key, std::int64_t fallback) { return m_config.size(key, fallback); }

    void refuseFamily(const std::string& type)
    {
        ModelSpec& model = m_out.model;
        if (type.empty())
            model.notUnderstood = "config.json names no model_type, so the operations of the model are not known";
        else
            model.notUnderstood = "model_type " + type + (hasExperts(m_fields) ? ", a mixture of experts," : "")
                + " is not understood yet, so its operations are not known";
    }

    void readSizes(const Family& family)
    {
        ModelSpec& model = m_out.model;
        model.vocabSize = size("vocab_size", family.vocab);
        model.hiddenSize = size("hidden_size", family.hidden);
        if (family.intermediate > 0)
            model.intermediateSize = size("intermediate_size", family.intermediate);
        model.layers = size("num_hidden_layers", family.layers);
        model.heads = size("num_attention_heads", family.heads);
        model.kvHeads = m_fields.integer("num_key_value_heads", 1, kLargest, kvHeadsFallback(family));
        if (hasLatentAttention(family)) {
            model.headDim = 2; // its heads have widths of their own, read later
        } else if (m_fields.find("head_dim")) {
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
        model.tiedEmbeddings = tied.flag("tie_word_embeddings", family.tied);
        model.qkNorm = type == "qwen3" || type == "qwen3_moe";
        const bool mayHaveBias = type == "llama" || type.starts_with("qwen3") || type.starts_with("gemma");
        if (type == "qwen2")
            model.attentionBias = AttentionBias::Qkv;
        else if ((mayHaveBias && m_fields.flag("attention_bias", false))
                 || (type == "gpt_oss" && m_fields.flag("attention_bias", true)))
            model.attentionBias = AttentionBias::Qkvo;
        model.mlpBias = type == "llama" && m_fields.flag("mlp_bias", false);
        model.norm.epsilon = m_fields.number("rms_norm_eps", 0, 1, family.epsilon);
    }

    /// What only some families have.
    void readParts(const Family& family)
    {
        const std::string type = family.type;
        ModelSpec& model = m_out.model;
        readExperts(m_config, family, model);
        if (hasLatentAttention(family))
            readLatentAttention(m_config, model);
        else if (type.starts_with("gemma"))
            readGemma(m_config, family, model);
        else if (type == "falcon")
            readFalcon(m_config, model);
    }

    /// Layers with a window by what the config says of each or of every n-th one; -1: it does not.
    int listedWindows()
    {
        if (const json* types = m_fields.find("layer_types"); types && types->is_array())
            return static_cast<int>(std::count(types->begin(), types->end(), json("sliding_attention")));
        if (const json* every = m_fields.find("sliding_window_pattern");
            every && every->is_number_integer() && every->get<std::int64_t>() > 0)
            return static_cast<int>(m_out.model.layers - m_out.model.layers / every->get<std::int64_t>());
        return -1;
    }

    void readWindow(const Family& family)
    {
        const std::string type = family.type;
        const bool always =
            type == "mistral" || type == "mixtral" || type == "gpt_oss" || type == "gemma2" || type == "gemma3_text";
        if (!m_fields.find("sliding_window") || !(always || m_fields.flag("use_sliding_window", false)))
            return;
        m_out.model.slidingWindow = m_fields.integer("sliding_window", 0, kLargest);
        if (const int windowed = listedWindows(); windowed >= 0 && m_out.model.slidingWindow > 0 && fullEvery(m_out.model) >= 0
            && windowed != windowedLayers(m_out.model)) {
            note("not-in-graph", Severity::Note,
                 "attention is limited to a sliding window in " + std::to_string(windowed)
                     + " layers, which are not those that the family's have: time and memory count all tokens in all layers");
            m_out.model.slidingWindow = 0;
        }
        if (m_out.model.slidingWindow > 0)
            note("not-in-graph", Severity::Note,
                 fullEvery(m_out.model) < 0 ? "attention is limited to a sliding window in some layers; the graph computes it over "
                                              "all tokens, and time and memory "
                                              "count all of them: which layers they are is not known"
                                            : "attention is limited to a sliding window in some layers; a run computes it over all "
                                              "tokens, time and memory are of "
                                              "what the windows leave");
    }

    void readRope(const Family& family)
    {
        ModelSpec& model = m_out.model;
        const json* parameters = m_fields.find("rope_parameters");
        const json* scaling = m_fields.find("rope_scaling");
        model.ropeTheta = family.ropeTheta;
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
            note("not-in-graph", Severity::Note,
                 "rotary embedding is scaled for long texts (rope_scaling); the graph uses the plain one, which changes "
                 "numbers but no shapes and no collectives");
    }

    void readActivation()
    {
        ModelSpec& model = m_out.model;
        const bool gemma = model.family.starts_with("gemma");
        const std::string name = gemma ? m_fields.text("hidden_activation", "gelu_pytorch_tanh")
            : model.family == "falcon" ? m_fields.text("activation", "gelu")
                                       : m_fields.text("hidden_act", "silu");
        const Activation* known = findConfigActivation(name);
        model.activation = known == nullptr ? "silu" : known->name;
        if (known == nullptr)
            model.notUnderstood = "the activation '" + name + "' is not understood yet";
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
            const std::string name = method != value->end() && method->is_string() ? method->get<std::string>() : "unnamed";
            if (!fields->isName("quantization_config", name))
                return;
            note("quantized", Severity::Warning,
                 "the weights are quantized (" + name + "); the graph shows them unquantized, as " + dtypeName(m_out.model.dtype),
                 "set --dtype to what you will run");
        }
    }

    std::string m_file;
    JsonFields m_top;
    ConfigFields m_config;
    JsonFields& m_fields;
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
