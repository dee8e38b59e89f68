// SPDX-License-Identifier: Apache-2.0
#include "model/io/json/jsonfields.h"
#include "model/io/json/jsonwriter.h"

#include <algorithm>
#include <limits>

namespace shardboard {

using nlohmann::json;

namespace {

/// An integer of the document, or nothing when it is not one or does not fit.
std::optional<std::int64_t> integerOf(const json& value)
{
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return std::nullopt;
        return static_cast<std::int64_t>(number);
    }
    if (value.is_number_integer())
        return value.get<std::int64_t>();
    return std::nullopt;
}

std::string shown(const json& value)
{
    constexpr std::size_t kLongest = 60;
    return shortened(jsonText(value), kLongest);
}

std::string rangeText(std::int64_t low, std::int64_t high)
{
    return high >= (std::int64_t { 1 } << 31) ? "use a whole number of at least " + std::to_string(low)
                                              : "use a whole number from " + std::to_string(low) + " to " + std::to_string(high);
}

} // namespace

JsonFields::JsonFields(const json& value, std::string file, std::string path)
    : m_value(value)
    , m_file(std::move(file))
    , m_path(std::move(path))
{
    if (!m_value.is_object())
        m_error = inputError(place(), "expected an object, found " + shown(m_value), "write {...}");
}

std::string JsonFields::place(const std::string& key) const
{
    std::string out = m_path;
    if (!key.empty())
        out += (out.empty() ? "" : ".") + key;
    return out.empty() ? m_file : m_file + ":" + out;
}

void JsonFields::adopt(const Error& error)
{
    if (!m_error)
        m_error = error;
}

void JsonFields::fail(const std::string& key, const std::string& what, const std::string& fix)
{
    adopt(inputError(place(key), what, fix));
}

const json* JsonFields::find(const std::string& key)
{
    m_asked.insert(key);
    if (!m_value.is_object())
        return nullptr;
    const auto found = m_value.find(key);
    if (found == m_value.end() || (m_nullIsAbsent && found->is_null()))
        return nullptr;
    return &*found;
}

const json* JsonFields::required(const std::string& key, bool hasFallback)
{
    const json* value = find(key);
    if (!value && !hasFallback)
        fail(key, "the key is missing", "add it");
    return value;
}

std::int64_t JsonFields::integer(const std::string& key, std::int64_t low, std::int64_t high, std::optional<std::int64_t> fallback)
{
    const json* value = required(key, fallback.has_value());
    if (!value)
        return fallback.value_or(low);
    const auto number = integerOf(*value);
    if (!number || *number < low || *number > high) {
        fail(key, "cannot be " + shown(*value), rangeText(low, high));
        return fallback.value_or(low);
    }
    return *number;
}

double JsonFields::number(const std::string& key, double low, double high, std::optional<double> fallback)
{
    const json* value = required(key, fallback.has_value());
    if (!value)
        return fallback.value_or(low);
    const double number = value->is_number() ? value->get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!(number >= low && number <= high)) {
        const bool any = low <= std::numeric_limits<double>::lowest() && high >= std::numeric_limits<double>::max();
        fail(key, "cannot be " + shown(*value),
             any ? std::string("use a number") : "use a number from " + shown(low) + " to " + shown(high));
        return fallback.value_or(low);
    }
    return number;
}

bool JsonFields::flag(const std::string& key, std::optional<bool> fallback)
{
    const json* value = required(key, fallback.has_value());
    if (value && value->is_boolean())
        return value->get<bool>();
    if (value)
        fail(key, "cannot be " + shown(*value), "use true or false");
    return fallback.value_or(false);
}

std::string JsonFields::text(const std::string& key, const std::optional<std::string>& fallback)
{
    const json* value = required(key, fallback.has_value());
    if (value && value->is_string() && isName(key, value->get_ref<const std::string&>()))
        return value->get<std::string>();
    if (value && !value->is_string())
        fail(key, "cannot be " + shown(*value), "use a text in quotes");
    return fallback.value_or(std::string());
}

std::string JsonFields::prose(const std::string& key, const std::string& fallback)
{
    const json* value = find(key);
    if (!value || !value->is_string())
        return text(key, fallback);
    std::string out = value->get<std::string>();
    std::string line = out;
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return isName(key, line) ? out : fallback;
}

bool JsonFields::isName(const std::string& key, const std::string& text)
{
    const auto problem = nameProblem(text);
    if (problem)
        fail(key, "'" + shortened(visibleText(text), 80) + "' " + *problem, "write it without");
    return !problem;
}

std::vector<std::string> JsonFields::texts(const std::string& key)
{
    std::vector<std::string> out;
    const json* value = find(key);
    if (!value)
        return out;
    if (!value->is_array()) {
        fail(key, "cannot be " + shown(*value), "use a list of texts");
        return out;
    }
    for (const json& item : *value) {
        if (!item.is_string()) {
            fail(key, "holds " + shown(item), "use a list of texts");
            return out;
        }
        if (!isName(key, item.get_ref<const std::string&>()))
            return out;
        out.push_back(item.get<std::string>());
    }
    return out;
}

std::vector<std::int64_t> JsonFields::integers(const std::string& key, std::int64_t low, std::int64_t high)
{
    std::vector<std::int64_t> out;
    const json* value = find(key);
    if (!value)
        return out;
    if (!value->is_array()) {
        fail(key, "cannot be " + shown(*value), "use a list of whole numbers");
        return out;
    }
    for (const json& item : *value) {
        const auto number = integerOf(item);
        if (!number || *number < low || *number > high) {
            fail(key, "holds " + shown(item), rangeText(low, high));
            return out;
        }
        out.push_back(*number);
    }
    return out;
}

json JsonFields::leftOver() const
{
    json out = json::object();
    if (m_value.is_object())
        for (const auto& [key, value] : m_value.items())
            if (!m_asked.contains(key))
                out[key] = value;
    return out;
}

} // namespace shardboard
