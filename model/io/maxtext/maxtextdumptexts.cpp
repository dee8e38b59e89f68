// SPDX-License-Identifier: Apache-2.0
// The texts inside MaxText's dumps: Python tuples, and the names of folders.
#include "model/io/maxtext/maxtextdump.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

#include <algorithm>

namespace shardboard {

namespace {

/// One element of a tuple: None, a text, or a tuple of texts.
struct Element {
    bool isTuple = false;
    bool isNone = false;
    std::vector<std::string> texts;
};

class TupleReader {
public:
    TupleReader(std::string_view text, std::string where)
        : m_text(text)
        , m_where(std::move(where))
    {
    }

    Result<std::vector<Element>> read()
    {
        std::vector<Element> out;
        if (!take('('))
            return wrong("a '('");
        while (!take(')')) {
            auto element = readElement(true);
            if (!element.ok())
                return element.error();
            out.push_back(std::move(element).value());
            if (!take(',') && peek() != ')')
                return wrong("a ',' or a ')'");
        }
        if (m_at != m_text.size())
            return wrong("the end");
        return out;
    }

private:
    char peek()
    {
        while (m_at < m_text.size() && m_text[m_at] == ' ')
            ++m_at;
        return m_at < m_text.size() ? m_text[m_at] : '\0';
    }
    bool take(char c)
    {
        if (peek() != c)
            return false;
        ++m_at;
        return true;
    }
    Error wrong(const std::string& expected) const
    {
        return inputError(m_where,
                          "'" + shortened(m_text, 80) + "' is not a tuple as Python writes it: " + expected
                              + " is expected at character " + std::to_string(m_at + 1),
                          "write it like ('embed', None)");
    }

    Result<Element> readElement(bool tupleAllowed)
    {
        Element out;
        const char next = peek();
        if (next == '\'' || next == '"')
            return readText(next);
        if (m_text.substr(m_at, 4) == "None") {
            m_at += 4;
            out.isNone = true;
            return out;
        }
        if (next != '(' || !tupleAllowed)
            return wrong("a name in quotes or None");
        ++m_at;
        out.isTuple = true;
        while (!take(')')) {
            auto inner = readElement(false);
            if (!inner.ok())
                return inner.error();
            if (inner.value().isNone)
                return wrong("a name in quotes");
            out.texts.push_back(inner.value().texts.front());
            if (!take(',') && peek() != ')')
                return wrong("a ',' or a ')'");
        }
        return out;
    }

    Result<Element> readText(char quote)
    {
        Element out;
        out.texts.emplace_back();
        for (++m_at; m_at < m_text.size() && m_text[m_at] != quote; ++m_at) {
            if (m_text[m_at] == '\\' && m_at + 1 < m_text.size())
                ++m_at;
            out.texts.back() += m_text[m_at];
        }
        if (m_at == m_text.size() || out.texts.back().empty())
            return wrong("the rest of a name");
        ++m_at;
        return out;
    }

    std::string_view m_text;
    std::string m_where;
    std::size_t m_at = 0;
};

/// As Python's repr writes a text.
std::string quoted(const std::string& text)
{
    const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
    std::string out(1, quote);
    for (const char c : text) {
        if (c == quote || c == '\\')
            out += '\\';
        out += c;
    }
    return out + quote;
}

/// A tuple of one has a comma.
std::string tupleText(const std::vector<std::string>& parts) { return "(" + joined(parts) + (parts.size() == 1 ? ",)" : ")"); }

bool isWordCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// Where `_word=` begins, or npos.
std::size_t nextOption(std::string_view text)
{
    for (std::size_t at = text.find('_'); at != std::string_view::npos; at = text.find('_', at + 1)) {
        std::size_t end = at + 1;
        while (end < text.size() && isWordCharacter(text[end]))
            ++end;
        if (end > at + 1 && end < text.size() && text[end] == '=')
            return at;
    }
    return std::string_view::npos;
}

/// The longest known name that the text begins with, else all before the first underscore.
std::string ruleNameOf(std::string_view text, const std::vector<std::string>& rules)
{
    std::string best;
    for (const std::string& rule : rules)
        if (text.starts_with(rule) && (text.size() == rule.size() || text[rule.size()] == '_') && rule.size() > best.size())
            best = rule;
    return best.empty() ? std::string(text.substr(0, text.find('_'))) : best;
}

} // namespace

std::string pythonSpecText(const DumpSpec& spec)
{
    std::vector<std::string> parts;
    for (const auto& axes : spec) {
        std::vector<std::string> names;
        for (const std::string& axis : axes)
            names.push_back(quoted(axis));
        parts.push_back(names.empty() ? "None" : names.size() == 1 ? names.front() : tupleText(names));
    }
    return "P" + tupleText(parts);
}

Result<DumpSpec> specFromPython(std::string_view text, const std::string& where)
{
    std::string_view tuple = text;
    if (tuple.starts_with("PartitionSpec"))
        tuple.remove_prefix(13);
    else if (tuple.starts_with("P"))
        tuple.remove_prefix(1);
    else
        return inputError(where, "'" + shortened(text, 80) + "' is not a partition spec", "write it like P('fsdp', None)");
    const auto elements = TupleReader(tuple, where).read();
    if (!elements.ok())
        return elements.error();
    DumpSpec spec;
    for (const Element& element : elements.value())
        spec.push_back(element.texts);
    return spec;
}

std::string pythonNamesText(const std::vector<std::string>& names)
{
    std::vector<std::string> parts;
    for (const std::string& name : names)
        parts.push_back(name.empty() ? "None" : quoted(name));
    return tupleText(parts);
}

Result<std::vector<std::string>> namesFromPython(std::string_view text, const std::string& where)
{
    const auto elements = TupleReader(text, where).read();
    if (!elements.ok())
        return elements.error();
    std::vector<std::string> names;
    for (const Element& element : elements.value()) {
        if (element.isTuple)
            return inputError(where, "a tuple stands where a logical name is expected in '" + shortened(text, 80) + "'",
                              "use one name for each dim");
        names.push_back(element.isNone ? std::string() : element.texts.front());
    }
    return names;
}

std::optional<std::vector<std::int64_t>> activationShape(std::string_view name)
{
    const auto open = name.rfind('[');
    if (open == std::string_view::npos || !name.ends_with(']'))
        return std::nullopt;
    std::vector<std::int64_t> shape;
    const std::string_view sizes = name.substr(open + 1, name.size() - open - 2);
    if (sizes.empty())
        return shape;
    for (const std::string_view part : split(sizes, ',')) {
        const auto size = parseInteger(part);
        if (!size || *size < 0)
            return std::nullopt;
        shape.push_back(*size);
    }
    return shape;
}

Result<DumpFolder> readDumpFolderName(std::string_view path, const std::vector<std::string>& rules)
{
    const std::string form = "dumps lie in MODEL/TOPOLOGY/slice_N/rule_NAME_key=value";
    auto parts = split(path, '/');
    std::erase_if(parts, [](std::string_view part) { return part.empty() || part == "."; });
    DumpFolder out;
    std::string_view options;
    if (!parts.empty() && parts.back().starts_with("rule_")) {
        const std::string_view name = parts.back().substr(5);
        out.rule = ruleNameOf(name, rules);
        options = name.substr(out.rule.size());
        parts.pop_back();
    }
    if (parts.size() < 3 || !parts.back().starts_with("slice_"))
        return inputError(std::string(path), "this is not a folder of a dump", form);
    const auto slices = parseInteger(parts.back().substr(6));
    if (!slices || *slices < 1)
        return inputError(std::string(path), "'" + std::string(parts.back()) + "' is not a number of slices", form);
    out.slices = *slices;
    out.topology = parts[parts.size() - 2];
    out.model = parts[parts.size() - 3];
    while (!options.empty()) {
        const auto equals = options.find('=');
        if (options.front() != '_' || equals == std::string_view::npos)
            return inputError(std::string(path), "'" + std::string(options) + "' is not a list of options", form);
        const std::string_view rest = options.substr(equals + 1);
        const auto next = nextOption(rest);
        out.options.emplace_back(options.substr(1, equals - 1), rest.substr(0, next));
        options = next == std::string_view::npos ? std::string_view() : rest.substr(next);
    }
    return out;
}

std::string dumpFolderName(const DumpFolder& folder)
{
    std::string out = folder.model + "/" + folder.topology + "/slice_" + std::to_string(folder.slices) + "/rule_" + folder.rule;
    for (const auto& [key, value] : folder.options)
        out += "_" + key + "=" + value;
    return out;
}

} // namespace shardboard
