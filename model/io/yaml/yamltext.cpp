// SPDX-License-Identifier: Apache-2.0
#include "model/io/yaml/yamltext.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <unordered_map>

namespace shardboard {

namespace {

/// Builds the tree from yaml-cpp's events, so that depth and aliases are checked before anything is built from them. What is wrong
/// is thrown as an Error, because only that ends the reading from inside yaml-cpp's calls; it never leaves this file.
class TreeBuilder : public YAML::EventHandler {
public:
    TreeBuilder(const std::string& where, const YamlLimits& limits)
        : m_where(where)
        , m_limits(limits)
    {
    }
    YamlValue take() { return std::move(m_root); }

    void OnDocumentStart(const YAML::Mark&) override { }
    void OnDocumentEnd() override { }

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(at(mark, YamlValue::Kind::Null), anchor); }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& text) override
    {
        YamlValue value = at(mark, YamlValue::Kind::Scalar);
        value.plain = tag == "?";
        value.text = text;
        if (!value.plain && tag != "!")
            value.plain = !isTextTag(value, tag);
        add(std::move(value), anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override
    {
        const YamlValue place = at(mark, YamlValue::Kind::Null);
        const auto found = m_anchors.find(anchor);
        if (found == m_anchors.end())
            throw refusal(place, "the alias stands inside its own anchor, which never ends", "write the values out");
        count(found->second.cost, place);
        YamlValue value = found->second.value;
        value.line = place.line;
        value.column = place.column;
        put(std::move(value));
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override
    {
        open(at(mark, YamlValue::Kind::List), tag, anchor);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override
    {
        open(at(mark, YamlValue::Kind::Map), tag, anchor);
    }
    void OnMapEnd() override
    {
        mergeKeys();
        close();
    }

private:
    struct Open {
        YamlValue value;
        YAML::anchor_t anchor = 0;
        std::size_t costBefore = 0;
        bool hasKey = false;
        std::unordered_map<std::string, int> lines; ///< of the keys so far
        std::vector<YamlValue> merged; ///< what `<<` names
    };
    struct Anchored {
        YamlValue value;
        std::size_t cost = 0;
    };

    static YamlValue at(const YAML::Mark& mark, YamlValue::Kind kind)
    {
        YamlValue value;
        value.kind = kind;
        value.line = mark.line + 1;
        value.column = mark.column + 1;
        return value;
    }

    bool isTextTag(const YamlValue& value, const std::string& tag) const
    {
        static const std::string kCore = "tag:yaml.org,2002:";
        const std::string name = tag.starts_with(kCore) ? tag.substr(kCore.size()) : std::string();
        if (name == "str")
            return true;
        if (name == "int" || name == "float" || name == "bool" || name == "null")
            return false;
        throw refusal(value, "the tag " + tag + " is not understood", "write the value without a tag");
    }

    void count(std::size_t cost, const YamlValue& place)
    {
        m_cost += cost;
        if (m_cost > m_limits.values)
            throw refusal(place, "more than " + std::to_string(m_limits.values) + " values, aliases written out",
                          "check that this is the right file");
    }

    void add(YamlValue value, YAML::anchor_t anchor)
    {
        const std::size_t cost = 1 + value.text.size() / 64;
        count(cost, value);
        if (anchor != 0) {
            count(cost, value);
            m_anchors[anchor] = { value, cost };
        }
        put(std::move(value));
    }

    void put(YamlValue value)
    {
        if (m_open.empty()) {
            m_root = std::move(value);
            return;
        }
        Open& parent = m_open.back();
        if (parent.value.isList()) {
            parent.value.items.push_back(std::move(value));
        } else if (!parent.hasKey) {
            putKey(parent, std::move(value));
        } else if (parent.value.keys.back() == "<<") {
            parent.value.keys.pop_back();
            parent.merged.push_back(std::move(value));
            parent.hasKey = false;
        } else {
            parent.value.items.push_back(std::move(value));
            parent.hasKey = false;
        }
    }

    void putKey(Open& parent, YamlValue key) const
    {
        if (key.kind != YamlValue::Kind::Scalar)
            throw refusal(key, "a key is " + key.shown(), "keys are words");
        const auto [line, isNew] = parent.lines.emplace(key.text, key.line);
        if (!isNew)
            throw refusal(key, "the key '" + key.text + "' appears twice, first on line " + std::to_string(line->second),
                          "keep one of them");
        parent.value.keys.push_back(std::move(key.text));
        parent.hasKey = true;
    }

    void open(YamlValue value, const std::string& tag, YAML::anchor_t anchor)
    {
        if (tag != "?" && tag != "!" && !tag.empty() && tag != "tag:yaml.org,2002:seq" && tag != "tag:yaml.org,2002:map")
            throw refusal(value, "the tag " + tag + " is not understood", "write the value without a tag");
        if (static_cast<int>(m_open.size()) >= m_limits.depth)
            throw refusal(value, "nested deeper than " + std::to_string(m_limits.depth) + " levels",
                          "write it flatter, or check that this is the right file");
        const std::size_t before = m_cost;
        count(1, value);
        m_open.emplace_back();
        m_open.back().value = std::move(value);
        m_open.back().anchor = anchor;
        m_open.back().costBefore = before;
    }

    void close()
    {
        Open done = std::move(m_open.back());
        m_open.pop_back();
        if (done.anchor != 0) {
            const std::size_t cost = m_cost - done.costBefore;
            count(cost, done.value);
            m_anchors[done.anchor] = { done.value, cost };
        }
        put(std::move(done.value));
    }

    /// Keys of the map itself win over those of `<<`, earlier maps of a list over later ones.
    void mergeKeys()
    {
        Open& map = m_open.back();
        std::vector<YamlValue> maps;
        for (YamlValue& value : map.merged) {
            if (value.isList())
                maps.insert(maps.end(), value.items.begin(), value.items.end());
            else
                maps.push_back(std::move(value));
        }
        for (const YamlValue& other : maps) {
            if (!other.isMap())
                throw refusal(other, "the merge key << names " + other.shown(), "name a map");
            for (std::size_t i = 0; i < other.keys.size(); ++i)
                if (map.lines.emplace(other.keys[i], other.items[i].line).second) {
                    map.value.keys.push_back(other.keys[i]);
                    map.value.items.push_back(other.items[i]);
                }
        }
    }

    Error refusal(const YamlValue& at, std::string what, std::string fix) const
    {
        return inputError(yamlPlace(m_where, at), std::move(what), std::move(fix));
    }

    const std::string& m_where;
    YamlLimits m_limits;
    YamlValue m_root;
    std::vector<Open> m_open;
    std::map<YAML::anchor_t, Anchored> m_anchors;
    std::size_t m_cost = 0;
};

Error errorAt(const std::string& where, int line, int column, std::string what, std::string fix)
{
    return inputError(where + ":" + std::to_string(line) + ":" + std::to_string(column), std::move(what), std::move(fix));
}

/// Bytes that no text holds; yaml-cpp would take some of them for the end of the text.
Status checkBytes(const std::string& text, const std::string& where)
{
    int line = 1;
    int column = 0;
    for (const char c : text) {
        ++column;
        const auto byte = static_cast<unsigned char>(c);
        if ((byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f)
            return errorAt(where, line, column, "the byte " + std::to_string(byte) + " cannot stand in YAML",
                           "check that this is a text file in UTF-8");
        if (c == '\n') {
            ++line;
            column = 0;
        }
    }
    return done();
}

} // namespace

Result<YamlValue> parseYaml(const std::string& text, const std::string& where, const YamlLimits& limits)
{
    if (text.size() > limits.bytes)
        return inputError(where, "is larger than " + std::to_string(limits.bytes) + " bytes", "check that this is the right file");
    if (auto status = checkBytes(text, where); !status.ok())
        return status.error();
    try {
        // Without its last line break: yaml-cpp takes one at the end for the end of a quote that is never closed.
        std::istringstream stream(text.substr(0, text.find_last_not_of(" \t\r\n") + 1));
        YAML::Parser parser(stream);
        TreeBuilder builder(where, limits);
        if (!parser.HandleNextDocument(builder))
            return YamlValue {};
        YamlValue root = builder.take();
        TreeBuilder second(where, limits);
        if (parser.HandleNextDocument(second))
            return inputError(yamlPlace(where, second.take()), "a second document begins here", "keep one document in a file");
        return root;
    } catch (const Error& problem) {
        return problem;
    } catch (const YAML::Exception& problem) {
        const bool openQuote = problem.msg.find("illegal EOF in scalar") != std::string::npos;
        return errorAt(where, std::max(problem.mark.line, 0) + 1, std::max(problem.mark.column, 0) + 1,
                       "not valid YAML: " + (openQuote ? "a quote is still open at the end" : problem.msg),
                       openQuote ? "close it where it began" : "check quotes, brackets and indentation here");
    } catch (const std::exception& problem) {
        return inputError(where, std::string("cannot be read as YAML: ") + problem.what(), "check that this is the right file");
    }
}

} // namespace shardboard
