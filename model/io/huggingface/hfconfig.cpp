// SPDX-License-Identifier: Apache-2.0
#include "model/io/huggingface/hfconfig.h"

#include "model/core/checked.h"
#include "model/families/activation.h"
#include "model/io/file/textfile.h"
#include "model/io/huggingface/configfields.h"
#include "model/io/huggingface/expression.h"
#include "model/io/huggingface/modelparts.h"
#include "model/io/huggingface/quantization.h"
#include "model/io/json/jsontext.h"
#include "model/io/safetensors/checkpointfinding.h"
#include "model/io/safetensors/safetensors.h"

#include "model/text/contains.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr std::int64_t kLargest = ConfigFields::kLargest;
constexpr const char* kOwnFile = "shardboard-family.json"; ///< beside a config.json: the family of its model

/// Of the keys that are not modelparts.h's.
constexpr std::array kCounts { "vocab_size",          "hidden_size",         "intermediate_size", "num_hidden_layers",
                               "num_attention_heads", "num_key_value_heads", "head_dim" };

/// `model_type`, or what the class name in `architectures` says.
std::string typeOf(JsonFields& fields)
{
    const std::string type = fields.text("model_type", "");
    if (const std::string model = fields.text("_class_name", ""); type.empty() && !model.empty()) // of diffusers
        return model;
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
    ConfigReader(const json& top, const json& text, const std::string& file, const std::string& path)
        : m_file(file)
        , m_top(top, file, "")
        , m_config(text, file, path)
        , m_path(path)
        , m_fields(m_config.json())
        , m_made(m_madeValues, file)
    {
        m_out.wrapped = !path.empty();
        m_top.nullIsAbsent();
    }

    Result<ConfigModel> read(const FamilyFile* own)
    {
        const std::string type = typeOf(m_fields);
        m_out.model.family = type;
        m_family = own != nullptr ? own : familyOf(type);
        if (m_fields.error())
            return *m_fields.error();
        readDtype();
        noteQuantization();
        if (m_family == nullptr) {
            refuseFamily(type);
            return finished();
        }
        if (own != nullptr)
            m_out.model.family = std::string(kOwnFamily) + own->type;
        if (const Status status = readStops(); !status.ok())
            return status.error();
        if (!m_out.model.hasGraph()) {
            static_cast<void>(readShapes()); // what it leaves out only headers tell
            return finished();
        }
        readRequired();
        readSizes();
        readModelParts(m_made, m_out.model);
        readRope();
        readActivation();
        readWindow();
        readNotes();
        for (const JsonFields* fields : { &m_fields, &m_top, &m_made })
            if (fields->error())
                return *fields->error();
        m_out.model.weightPrefix = m_family->prefix;
        m_out.model.names = m_family->names;
        readPacking();
        m_out.beside = m_family->beside;
        if (const Status status = readShapes(); !status.ok())
            return status.error();
        if (const auto status = verifyModel(m_out.model, m_fields.place()); !status.ok())
            return status.error();
        noteUnknownKeys();
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

    void refuseFamily(const std::string& type)
    {
        ModelSpec& model = m_out.model;
        if (type.empty())
            model.notUnderstood = "config.json names no model_type, so the operations of the model are not known";
        else
            model.notUnderstood = "model_type " + type + (hasExperts(m_fields) ? ", a mixture of experts," : "")
                + " is not understood yet, so its operations are not known";
    }

    /// Of the family's defaults, null where it has none.
    const json& usual(const std::string& key) const
    {
        static const json kNone;
        const auto found = m_family->config.find(key);
        return found == m_family->config.end() ? kNone : *found;
    }

    /// A default that is negative stands for none, and may be written out.
    static std::int64_t leastOf(const json& fallback)
    {
        return fallback.is_number_unsigned() ? 0 : std::min<std::int64_t>(0, fallback.get<std::int64_t>());
    }

    /// A key of the config, or its default; what the default is says what it may be.
    Result<json> configValue(const std::string& key)
    {
        const auto dot = key.find('.');
        if (dot != std::string::npos) {
            const json* at = m_fields.find(key.substr(0, dot));
            for (const std::string_view part : split(std::string_view(key).substr(dot + 1), '.')) {
                if (at == nullptr || !at->is_object())
                    return json();
                const auto found = at->find(part);
                at = found == at->end() ? nullptr : &*found;
            }
            return at == nullptr || at->is_object() ? Result<json>(json()) : checked(key, *at);
        }
        JsonFields& fields = key == "tie_word_embeddings" && m_fields.find(key) == nullptr ? m_top : m_fields;
        const json& fallback = usual(key);
        const json* value = fields.find(key);
        if (value == nullptr)
            return fields.holds(key) ? json() : fallback;
        json out;
        if (fallback.is_boolean())
            out = fields.flag(key);
        else if (fallback.is_number_integer())
            out = fields.integer(key, contains(m_family->required, key) ? 1 : leastOf(fallback), kLargest);
        else if (fallback.is_number())
            out = fields.number(key, -1e18, 1e18);
        else if (fallback.is_string())
            out = fields.text(key);
        else
            return checked(key, *value);
        return fields.error() ? Result<json>(*fields.error()) : out;
    }

    /// A value whose kind nobody knows before.
    Result<json> checked(const std::string& key, const json& value)
    {
        const auto tooLarge = [](const json& each) { return each.is_number() && !(std::abs(each.get<double>()) <= 4e18); };
        const bool list = value.is_array();
        if (tooLarge(value) || (list && (value.size() > 100'000 || std::ranges::any_of(value, tooLarge))))
            m_fields.fail(key, "is too large", "use smaller numbers");
        if (value.is_string())
            m_fields.isName(key, value.get_ref<const std::string&>());
        return m_fields.error() ? Result<json>(*m_fields.error()) : value;
    }

    /// What the family file says of a key of the model.
    Result<json> modelValue(const std::string& key)
    {
        if (const auto known = m_values.find(key); known != m_values.end())
            return known->second;
        const auto found = m_family->model.find(key);
        if (found == m_family->model.end())
            return json();
        if (!m_begun.insert(key).second)
            return inputError(m_family->file + ":model." + key, "depends on itself", "write it with other keys");
        auto value = evaluated(found->second, m_fields.place(key));
        if (value.ok())
            m_values[key] = value.value();
        return value;
    }

    Result<json> evaluated(const std::string& text, const std::string& where)
    {
        return evaluateExpression(text,
                                  { [this](const std::string& key) { return configValue(key); },
                                    [this](const std::string& key) { return modelValue(key); },
                                    [this](const std::string& key) { return m_fields.holds(key); } },
                                  where);
    }

    void readRequired()
    {
        for (const std::string& key : m_family->required)
            if (m_fields.find(key) == nullptr) {
                if (m_out.wrapped && !usual(key).is_null())
                    note("config", Severity::Note,
                         m_path + " lacks " + key + "; " + usual(key).dump() + ", the default of its class, is used");
                else
                    m_fields.need(key);
            }
    }

    /// All values as an object with the keys of a design's model, then the sizes from it.
    void readSizes()
    {
        for (const auto& [key, text] : m_family->model) {
            const auto value = modelValue(key);
            if (!value.ok()) {
                m_fields.adopt(value.error());
                return;
            }
            if (value.value().is_null())
                continue;
            json made = value.value();
            const bool counted = contains(kCounts, key) || modelPartKeys().contains(key);
            if (made.is_number_float() && counted && std::abs(made.get<double>()) < 4e18
                && made.get<double>() == std::trunc(made.get<double>()))
                made = static_cast<std::int64_t>(made.get<double>()); // as good for a factor
            if (made.is_number_float() && key == "head_dim") {
                const auto said = [&](const char* size) { // sizes come in any order
                    const auto of = modelValue(size);
                    return of.ok() ? of.value().dump() : std::string("it");
                };
                m_fields.fail("num_attention_heads",
                              "hidden_size " + said("hidden_size") + " does not divide into " + said("num_attention_heads")
                                  + " heads",
                              "correct one of them, or set head_dim");
                return;
            }
            m_madeValues[key] = std::move(made);
        }
        ModelSpec& model = m_out.model;
        const auto count = [&](const char* key) { return m_made.integer(key, 0, kLargest, 0); };
        model.vocabSize = count("vocab_size");
        model.hiddenSize = count("hidden_size");
        model.intermediateSize = count("intermediate_size");
        model.layers = count("num_hidden_layers");
        model.heads = count("num_attention_heads");
        model.kvHeads = count("num_key_value_heads");
        model.headDim = count("head_dim");
        JsonFields& tied = m_fields.find("tie_word_embeddings") ? m_fields : m_top;
        m_out.saysTied = tied.find("tie_word_embeddings") != nullptr;
        model.tiedEmbeddings = m_made.flag("tie_word_embeddings", false);
        model.qkNorm = m_made.flag("qk_norm", false);
        model.mlpBias = m_made.flag("mlp_bias", false);
        model.norm.epsilon = m_made.number("rms_norm_eps", 0, 1, 1e-6);
        const std::string bias = m_made.text("attention_bias", "none");
        model.attentionBias = bias == "qkvo" ? AttentionBias::Qkvo : bias == "qkv" ? AttentionBias::Qkv : AttentionBias::None;
    }

    /// `text` with what stands in braces replaced by its value.
    std::string said(const std::string& text)
    {
        std::string out;
        std::size_t at = 0;
        while (at < text.size()) {
            const auto open = text.find('{', at);
            const auto close = open == std::string::npos ? open : text.find('}', open);
            if (close == std::string::npos)
                break;
            out += text.substr(at, open - at);
            const auto value = evaluated(text.substr(open + 1, close - open - 1), m_family->file);
            if (value.ok())
                out += value.value().is_string() ? value.value().get<std::string>() : value.value().dump();
            at = close + 1;
        }
        return shortened(visibleText(out + text.substr(at)), 400);
    }

    Result<bool> holdsTrue(const FamilyFile::Remark& remark)
    {
        if (remark.when.empty())
            return true;
        const auto value = evaluated(remark.when, m_family->file);
        if (!value.ok())
            return value.error();
        const json& told = value.value();
        return told.is_boolean() ? told.get<bool>() : !told.is_null() && told != json(0);
    }

    Status readStops()
    {
        for (const FamilyFile::Remark& remark : m_family->stops) {
            const auto stops = holdsTrue(remark);
            if (!stops.ok())
                return stops.error();
            if (stops.value() && m_out.model.hasGraph())
                m_out.model.notUnderstood =
                    (m_family->model.empty() ? "of model_type " + m_family->type + " " : std::string()) + said(remark.text);
        }
        return done();
    }

    /// A weight of which a size is 0 is none. What cannot be worked out is left out; the first of it is the error.
    Status readShapes()
    {
        std::optional<Error> wrong;
        for (const FamilyFile::Weight& weight : m_family->weights) {
            ConfigModel::KnownShape known { weight.pattern, {}, weight.layers };
            for (const std::string& size : weight.shape) {
                const auto value = sizeOf(size, weight.pattern);
                if (value.ok())
                    known.shape.push_back(value.value());
                else if (!wrong)
                    wrong = value.error();
            }
            if (known.shape.size() != weight.shape.size() || contains(known.shape, std::int64_t { 0 }))
                continue;
            const auto elements = checkedProduct(known.shape);
            if (elements && checkedMultiply(*elements, 64))
                m_out.shapes.push_back(std::move(known));
            else if (!wrong)
                wrong = wrongSize(weight.shape, weight.pattern, "has too many elements to count", "use smaller sizes");
        }
        return wrong ? Status(*wrong) : done();
    }

    /// 0 to 2^31.
    Result<std::int64_t> sizeOf(const std::string& size, const std::string& weight)
    {
        const auto value = evaluated(size, m_fields.place());
        if (!value.ok())
            return value.error();
        const double number = value.value().is_number() ? value.value().get<double>() : -1;
        if (!(number >= 0 && number <= static_cast<double>(kLargest)) || number != std::trunc(number))
            return wrongSize({ size }, weight, "would have a size of " + shortened(visibleText(value.value().dump()), 40),
                             "use sizes of 1 to 2^31, or 0 for none");
        return static_cast<std::int64_t>(number);
    }

    /// Names the key of the config, where the sizes come from one that it has.
    Error wrongSize(const std::vector<std::string>& sizes, const std::string& weight, const std::string& what,
                    const std::string& fix) const
    {
        std::set<std::string> held;
        for (const std::string& size : sizes)
            for (const std::string& key : keysOfExpression(size))
                if (m_fields.holds(key))
                    held.insert(key);
        const std::string shape = shortened(visibleText(joined(sizes)), 200);
        return inputError(held.size() == 1 ? m_fields.place(*held.begin()) : m_fields.place(),
                          "the weight " + visibleText(weight) + " (" + shape + ") " + what, fix);
    }

    void readNotes()
    {
        for (const FamilyFile::Remark& remark : m_family->notes) {
            const auto holds = holdsTrue(remark);
            if (!holds.ok())
                m_fields.adopt(holds.error());
            else if (holds.value())
                note("not-in-graph", Severity::Note, said(remark.text));
        }
    }

    /// What any expression of the family file names.
    std::set<std::string> namedKeys() const
    {
        std::set<std::string> out;
        const auto add = [&](const std::string& text) { out.merge(keysOfExpression(text)); };
        for (const auto& [key, text] : m_family->model)
            add(text);
        for (const auto* remarks : { &m_family->stops, &m_family->notes })
            for (const FamilyFile::Remark& remark : *remarks)
                add(remark.when);
        return out;
    }

    /// Keys that the family file does not name, or has a default for that nothing reads, unless they are switched off or say the
    /// same as the default.
    void noteUnknownKeys()
    {
        const std::set<std::string> named = namedKeys();
        std::vector<std::string> unknown;
        const json left = m_fields.leftOver();
        for (const auto& [key, value] : left.items()) {
            const bool off =
                value.is_null() || value == json(false) || value == json(0) || (value.is_structured() && value.empty());
            if (!off && !contains(m_family->ignored, key) && !named.contains(key) && usual(key) != value && !key.starts_with('_'))
                unknown.push_back(shortened(visibleText(key), 60));
        }
        constexpr std::size_t kShown = 8;
        const std::size_t count = unknown.size();
        if (count > kShown)
            unknown.resize(kShown);
        if (count > 0)
            note("config", Severity::Note,
                 joined(unknown) + (count > kShown ? ", and " + std::to_string(count - kShown) + " more," : "")
                     + (count == 1 ? " is a key" : " are keys") + " that the family " + m_family->type
                     + " does not know: the graph does not follow what " + (count == 1 ? "it says" : "they say"));
    }

    void readWindow()
    {
        ModelSpec& model = m_out.model;
        if (model.slidingWindow <= 0) {
            model.windowPeriod = -1;
            return;
        }
        const bool listed = m_fields.find("layer_types") != nullptr || m_fields.find("sliding_window_pattern") != nullptr;
        if (model.windowPeriod < 0 && listed) {
            note(
                "not-in-graph", Severity::Note,
                "attention is limited to a sliding window in layers that follow no period: time and memory count all tokens in all "
                "layers");
            model.slidingWindow = 0;
            return;
        }
        note("not-in-graph", Severity::Note,
             model.windowPeriod < 0 ? "attention is limited to a sliding window in some layers; the graph computes it over "
                                      "all tokens, and time and memory "
                                      "count all of them: which layers they are is not known"
                                    : "attention is limited to a sliding window in some layers; a run computes it over all "
                                      "tokens, time and memory are of "
                                      "what the windows leave");
    }

    /// Of parameters for kinds of layers those of the layers that attend to all tokens.
    void readRope()
    {
        ModelSpec& model = m_out.model;
        const json* parameters = m_fields.find("rope_parameters");
        const json* scaling = m_fields.find("rope_scaling");
        if (parameters && parameters->is_object())
            if (const auto full = parameters->find("full_attention"); full != parameters->end())
                parameters = &*full;
        model.ropeTheta = usual("rope_theta").is_number() ? usual("rope_theta").get<double>() : 10000;
        if (parameters && parameters->is_object()) {
            JsonFields rope(*parameters, m_file, "rope_parameters");
            rope.nullIsAbsent();
            model.ropeTheta = rope.number("rope_theta", 1e-3, 1e18, model.ropeTheta);
            if (rope.error())
                m_fields.adopt(*rope.error());
            scaling = rope.text("rope_type", "default") == "default" ? scaling : parameters;
        }
        model.ropeTheta = m_fields.number("rope_theta", 1e-3, 1e18, model.ropeTheta);
        if (m_madeValues.contains("rope_theta"))
            model.ropeTheta = m_made.number("rope_theta", 0, 1e18);
        if (scaling && scaling->is_object() && !scaling->empty() && model.ropeTheta > 0)
            note("not-in-graph", Severity::Note,
                 "rotary embedding is scaled for long texts (rope_scaling); the graph uses the plain one, which changes "
                 "numbers but no shapes and no collectives");
    }

    void readActivation()
    {
        ModelSpec& model = m_out.model;
        const std::string name = m_made.text("activation", "silu");
        const Activation* known = findConfigActivation(name);
        model.activation = known == nullptr ? "silu" : known->name;
        if (known == nullptr && model.hasGraph())
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
            if (method != value->end() && method->is_string()
                && !fields->isName("quantization_config", method->get_ref<const std::string&>()))
                return;
            m_quantization = value;
        }
    }

    /// Of a model with a graph how its weights are packed.
    void readPacking()
    {
        ModelSpec& model = m_out.model;
        if (m_quantization == nullptr)
            return;
        Quantization read = readQuantization(*m_quantization, "*" + model.nameOf("layers") + ".*.", model.layers);
        if (read.packed.empty())
            note("quantized", Severity::Warning,
                 "the weights are quantized (" + read.text
                     + "), in a way that is not understood; the graph shows them unquantized, as " + dtypeName(model.dtype),
                 "set --dtype to what you will run");
        else
            note("quantized", Severity::Note,
                 "the weights are packed (" + read.text + "): memory and reading count what is stored, products are computed in "
                     + dtypeName(model.dtype) + ", and training has plain weights"
                     + (read.remarks.empty() ? std::string() : "; " + joined(read.remarks, "; ")));
        model.packed = std::move(read.packed);
    }

    std::string m_file;
    JsonFields m_top;
    ConfigFields m_config;
    std::string m_path; ///< of the keys in the file
    JsonFields& m_fields;
    const FamilyFile* m_family = nullptr;
    std::map<std::string, json> m_values; ///< of the family's expressions
    std::set<std::string> m_begun;
    json m_madeValues = json::object(); ///< the model as a design would have it
    JsonFields m_made;
    const json* m_quantization = nullptr;
    ConfigModel m_out;
};

} // namespace

Result<ConfigModel> modelFromConfig(const json& config, const std::string& file, const FamilyFile* own)
{
    if (!config.is_object())
        return inputError(file, "is not an object", "give the config.json of a model");
    // The decoder of a larger model has its keys in an object of their own, of Omni models in one inside of that of the part that
    // thinks.
    const json* top = &config;
    std::string path;
    const auto enter = [&](const char* key) {
        const auto inner = top->find(key);
        if (inner == top->end() || !inner->is_object())
            return false;
        top = &*inner;
        path += (path.empty() ? "" : ".") + std::string(key);
        return true;
    };
    enter("thinker_config");
    for (const char* key : { "text_config", "language_config", "llm_config" })
        if (enter(key))
            break;
    return ConfigReader(config, *top, file, path).read(own);
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
    const std::filesystem::path beside = std::filesystem::path(path).replace_filename(kOwnFile);
    std::error_code failed;
    if (!std::filesystem::exists(beside, failed))
        return modelFromConfig(document.value(), path);
    const auto own = readTextFile(beside.string(), std::size_t { 1 } << 20);
    if (!own.ok())
        return own.error();
    const auto family = readFamilyFile(own.value(), beside.string(), familyOf);
    return family.ok() ? modelFromConfig(document.value(), path, &family.value()) : family.error();
}

} // namespace shardboard
