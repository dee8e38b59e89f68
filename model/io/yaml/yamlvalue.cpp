// SPDX-License-Identifier: Apache-2.0
// What plain words mean in YAML 1.1.
#include "model/io/yaml/yamltext.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace shardboard {

namespace {

std::string withoutUnderscores(std::string_view text)
{
    std::string out(text);
    std::erase(out, '_');
    return out;
}

std::optional<std::int64_t> digits(std::string_view text, int base)
{
    const std::string clean = withoutUnderscores(text);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(clean.data(), clean.data() + clean.size(), value, base);
    if (clean.empty() || clean.front() == '-' || error != std::errc() || end != clean.data() + clean.size())
        return std::nullopt;
    return value;
}

/// 1:30:00 is 5400.
std::optional<std::int64_t> sexagesimal(std::string_view text)
{
    std::int64_t value = 0;
    for (const std::string_view part : split(text, ':')) {
        const auto next = digits(part, 10);
        if (!next || value > std::numeric_limits<std::int64_t>::max() / 60 - 60 || (value > 0 && *next > 59))
            return std::nullopt;
        value = value * 60 + *next;
    }
    return value;
}

std::optional<std::int64_t> unsignedInteger(std::string_view text)
{
    if (text.empty() || text.front() < '0' || text.front() > '9')
        return std::nullopt;
    if (text.find(':') != std::string_view::npos)
        return text.front() == '0' ? std::nullopt : sexagesimal(text);
    if (text.size() > 1 && text.front() == '0') {
        const char kind = text[1];
        if (kind == 'x')
            return digits(text.substr(2), 16);
        return kind == 'b' ? digits(text.substr(2), 2) : digits(text.substr(1), 8);
    }
    return digits(text, 10);
}

} // namespace

const YamlValue* YamlValue::find(std::string_view key) const
{
    const auto found = std::ranges::find(keys, key);
    return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

std::optional<bool> YamlValue::boolean() const
{
    static constexpr std::array<std::string_view, 18> kWords {
        "yes", "Yes", "YES", "true",  "True",  "TRUE",  "on",  "On",  "ON",
        "no",  "No",  "NO",  "false", "False", "FALSE", "off", "Off", "OFF"
    };
    const auto found = std::ranges::find(kWords, text);
    if (kind != Kind::Scalar || !plain || found == kWords.end())
        return std::nullopt;
    return found - kWords.begin() < 9;
}

std::optional<std::int64_t> YamlValue::integer() const
{
    if (kind != Kind::Scalar || !plain || text.empty())
        return std::nullopt;
    const bool sign = text.front() == '-' || text.front() == '+';
    const auto value = unsignedInteger(std::string_view(text).substr(sign ? 1 : 0));
    return value && text.front() == '-' ? -*value : value;
}

std::optional<double> YamlValue::number() const
{
    if (const auto whole = integer())
        return static_cast<double>(*whole);
    if (kind != Kind::Scalar || !plain || text.empty())
        return std::nullopt;
    const bool minus = text.front() == '-';
    std::string clean = withoutUnderscores(std::string_view(text).substr(minus || text.front() == '+' ? 1 : 0));
    const std::string word = lowered(clean);
    if (word == ".inf")
        return (minus ? -1 : 1) * std::numeric_limits<double>::infinity();
    if (word == ".nan" && clean == text)
        return std::numeric_limits<double>::quiet_NaN();
    const bool begins = !clean.empty() && ((clean.front() >= '0' && clean.front() <= '9') || clean.front() == '.');
    double value = 0;
    const auto [end, error] = std::from_chars(clean.data(), clean.data() + clean.size(), value);
    if (!begins || error != std::errc() || end != clean.data() + clean.size())
        return std::nullopt;
    return minus ? -value : value;
}

bool YamlValue::isText() const { return kind == Kind::Scalar && (!plain || (!boolean() && !number())); }

std::string YamlValue::shown() const
{
    switch (kind) {
    case Kind::Null:
        return "nothing";
    case Kind::List:
        return "a list";
    case Kind::Map:
        return "a map";
    case Kind::Scalar:
        break;
    }
    if (boolean())
        return *boolean() ? "true" : "false";
    return number() ? "the number " + text : "'" + shortened(visibleText(text), 60) + "'";
}

std::string yamlPlace(const std::string& file, const YamlValue& value)
{
    return file + ":" + std::to_string(value.line) + ":" + std::to_string(value.column);
}

} // namespace shardboard
