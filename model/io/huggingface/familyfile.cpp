// SPDX-License-Identifier: Apache-2.0
#include "model/io/huggingface/familyfile.h"

#include "model/families/modelspec.h"
#include "model/io/huggingface/expression.h"
#include "model/io/huggingface/modelparts.h"
#include "model/io/json/jsonfields.h"
#include "model/io/json/jsontext.h"
#include "model/text/contains.h"
#include "model/text/glob.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace shardboard {

using nlohmann::json;

/// Made from resources/families.
std::span<const std::pair<std::string_view, std::string_view>> familyTexts();

namespace {

constexpr std::size_t kMost = 400; ///< entries of a list or an object of a family file

/// Values that every decoder has beside those of modelparts.h; `window` and `ignored` keys of the config are read elsewhere.
constexpr std::array kSizes {
    "vocab_size", "hidden_size",         "intermediate_size",   "num_hidden_layers", "num_attention_heads",
    "head_dim",   "num_key_value_heads", "tie_word_embeddings", "qk_norm",           "attention_bias",
    "mlp_bias",   "activation",          "rms_norm_eps",        "rope_theta"
};

bool isModelKey(const std::string& key) { return contains(kSizes, key) || modelPartKeys().contains(key); }

class FamilyReader {
public:
    FamilyReader(const json& document, const std::string& file)
        : m_fields(document, file)
    {
        m_fields.refuseUnknown();
        m_out.file = file;
    }

    Result<FamilyFile> read(const std::function<const FamilyFile*(const std::string&)>& base)
    {
        if (const std::string like = m_fields.text("like", ""); !like.empty()) {
            const FamilyFile* other = base(like);
            if (other == nullptr)
                m_fields.fail("like", "there is no family '" + shortened(like, 80) + "'", "name one that is built in");
            else
                takeOver(*other);
        }
        m_out.type = m_fields.text("model_type");
        m_out.otherTypes = m_fields.texts("also");
        m_out.className = m_fields.text("class", "");
        m_out.source = m_fields.prose("source", "");
        m_out.prefix = m_fields.text("prefix", m_out.prefix);
        if (m_fields.holds("required"))
            m_out.required = m_fields.texts("required");
        for (const std::string& key : m_fields.texts("ignored"))
            add(m_out.ignored, key);
        for (const std::string& pattern : m_fields.texts("beside"))
            add(m_out.beside, pattern);
        readConfig();
        readModel();
        readNames();
        readWeights();
        readRemarks("stops", m_out.stops);
        readRemarks("notes", m_out.notes);
        if (m_out.type.empty() && !m_fields.error())
            m_fields.fail("model_type", "is empty", "name the model_type of the configs");
        m_fields.close();
        if (m_fields.error())
            return *m_fields.error();
        return std::move(m_out);
    }

private:
    void takeOver(const FamilyFile& other)
    {
        const std::string file = m_out.file;
        m_out = other;
        m_out.file = file;
        m_out.otherTypes.clear();
        m_out.source.clear();
    }

    static void add(std::vector<std::string>& to, const std::string& item)
    {
        if (!contains(to, item))
            to.push_back(item);
    }

    /// The entries of an object, or nothing.
    const json& entries(const char* key)
    {
        static const json kNone = json::object();
        const json* value = m_fields.find(key);
        if (value == nullptr)
            return kNone;
        if (!value->is_object() || value->size() > kMost) {
            m_fields.fail(key, "is not an object of up to " + std::to_string(kMost) + " entries", "write {...}");
            return kNone;
        }
        return *value;
    }

    void readConfig()
    {
        for (const auto& [key, value] : entries("config").items()) {
            if (value.is_object() || (value.is_array() && value.size() > kMost)
                || (value.is_string() && nameProblem(value.get<std::string>())))
                m_fields.fail("config", "'" + shortened(visibleText(key), 80) + "' cannot have that default",
                              "use a number, true, false, a text, a short list, or null");
            m_out.config[key] = value;
        }
    }

    void readModel()
    {
        for (const auto& [key, value] : entries("model").items()) {
            if (!isModelKey(key)) {
                m_fields.fail("model", "'" + shortened(visibleText(key), 80) + "' is no key of a model", "correct its spelling");
                return;
            }
            if (value.is_null()) {
                m_out.model.erase(key);
                continue;
            }
            std::string text = value.is_string() ? value.get<std::string>() : value.dump();
            if (value.is_string())
                if (const auto status = checkExpression(text, m_fields.place("model." + key)); !status.ok())
                    m_fields.adopt(status.error());
            if (!value.is_string() && !value.is_number() && !value.is_boolean())
                m_fields.fail("model", "'" + key + "' is neither an expression nor a value", "write an expression in quotes");
            m_out.model[key] = std::move(text);
        }
    }

    void readNames()
    {
        for (const auto& [part, name] : entries("names").items()) {
            if (!name.is_string() || name.get_ref<const std::string&>().empty() || nameProblem(part)
                || nameProblem(name.get_ref<const std::string&>())) {
                m_fields.fail("names", "'" + shortened(visibleText(part), 80) + "' cannot be called so", "use a name in quotes");
                return;
            }
            m_out.names[part] = name.get<std::string>();
        }
    }

    /// Those of the file go before inherited ones, of which those go that it says anew: by the same pattern, or of one name by a
    /// pattern that covers it.
    void readWeights()
    {
        if (!m_fields.holds("weights"))
            return;
        std::vector<FamilyFile::Weight> inherited = std::exchange(m_out.weights, {});
        m_fields.objects("weights", [&](JsonFields& item) {
            FamilyFile::Weight weight { item.text("name"), item.texts("shape"), item.text("layers", "") };
            for (const std::string& size : weight.shape)
                if (const auto status = checkExpression(size, item.place("shape")); !status.ok())
                    m_fields.adopt(status.error());
            item.close();
            if (m_out.weights.size() < kMost)
                m_out.weights.push_back(std::move(weight));
        });
        std::erase_if(inherited, [this](const FamilyFile::Weight& old) {
            return std::ranges::any_of(m_out.weights, [&](const FamilyFile::Weight& own) {
                return own.pattern == old.pattern
                    || (old.pattern.find('*') == std::string::npos && globMatch(own.pattern, old.pattern));
            });
        });
        for (FamilyFile::Weight& old : inherited)
            if (m_out.weights.size() < kMost)
                m_out.weights.push_back(std::move(old));
    }

    void readRemarks(const char* key, std::vector<FamilyFile::Remark>& out)
    {
        if (!m_fields.holds(key))
            return;
        m_fields.objects(key, [&](JsonFields& item) {
            FamilyFile::Remark remark { item.text("if", ""), item.text("say") };
            if (!remark.when.empty())
                if (const auto status = checkExpression(remark.when, item.place("if")); !status.ok())
                    m_fields.adopt(status.error());
            item.close();
            if (out.size() < kMost)
                out.push_back(std::move(remark));
        });
    }

    JsonFields m_fields;
    FamilyFile m_out;
};

/// Families are read after those that they are like.
class BuiltinReader {
public:
    Result<std::vector<FamilyFile>> read()
    {
        for (const auto& [name, text] : familyTexts()) {
            const std::string type = std::string(name.substr(0, name.rfind('.')));
            if (need(type) == nullptr)
                return m_error ? *m_error : inputError("resources/families/" + type + ".json", "cannot be read", "correct it");
        }
        std::vector<FamilyFile> out;
        for (auto& [type, family] : m_read)
            out.push_back(std::move(family));
        return out;
    }

private:
    const FamilyFile* need(const std::string& type) // NOLINT: as deep as families are like others, none like itself
    {
        if (const auto found = m_read.find(type); found != m_read.end())
            return &found->second;
        const auto texts = familyTexts();
        const auto text = std::ranges::find_if(texts, [&](const auto& each) { return each.first == type + ".json"; });
        if (text == texts.end() || contains(m_begun, type))
            return nullptr;
        m_begun.push_back(type);
        auto family = readFamilyFile(std::string(text->second), "resources/families/" + type + ".json",
                                     [this](const std::string& other) { return need(other); });
        if (!family.ok()) {
            if (!m_error)
                m_error = family.error();
            return nullptr;
        }
        return &m_read.emplace(type, std::move(family).value()).first->second;
    }

    std::map<std::string, FamilyFile> m_read;
    std::vector<std::string> m_begun;
    std::optional<Error> m_error;
};

} // namespace

Result<FamilyFile> readFamilyFile(const std::string& text, const std::string& file,
                                  const std::function<const FamilyFile*(const std::string&)>& base)
{
    const auto document = parseJson(text, file);
    if (!document.ok())
        return document.error();
    return FamilyReader(document.value(), file).read(base);
}

const Result<std::vector<FamilyFile>>& builtinFamilies()
{
    static const auto families = BuiltinReader().read();
    return families;
}

const FamilyFile* familyOf(const std::string& type)
{
    if (builtinFamilies().ok())
        for (const FamilyFile& family : builtinFamilies().value())
            if (type == family.type || contains(family.otherTypes, type))
                return &family;
    return nullptr;
}

bool isPlannedFamily(const std::string& type)
{
    const FamilyFile* family = familyOf(type);
    return family != nullptr && family->isPlanned();
}

std::vector<std::string> familyTypes()
{
    std::vector<std::string> types;
    if (builtinFamilies().ok())
        for (const FamilyFile& family : builtinFamilies().value())
            if (family.isPlanned())
                types.push_back(family.type);
    return types;
}

std::string typeOfClass(const std::string& className)
{
    if (builtinFamilies().ok())
        for (const FamilyFile& family : builtinFamilies().value())
            for (const char* ending : { "ForCausalLM", "Model", "TextModel" })
                if (!family.className.empty() && className == family.className + ending)
                    return family.type;
    return className;
}

std::int64_t windowPeriodOf(const std::string& type)
{
    const FamilyFile* family = familyOf(type);
    if (family == nullptr)
        return -1;
    const auto found = family->model.find("full_attention_every");
    if (found == family->model.end())
        return -1;
    const auto value =
        evaluateExpression(found->second,
                           { [&](const std::string& key) { return Result<json>(family->config.value(key, json())); },
                             [](const std::string&) { return Result<json>(json()); }, [](const std::string&) { return false; } },
                           family->file);
    return value.ok() && value.value().is_number_integer() ? value.value().get<std::int64_t>() : -1;
}

} // namespace shardboard
