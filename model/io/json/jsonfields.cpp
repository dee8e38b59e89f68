// SPDX-License-Identifier: Apache-2.0
#include "model/io/json/jsonfields.h"

#include "model/io/json/jsonwriter.h"
#include "model/text/contains.h"

#include <algorithm>
#include <limits>
#include <utility>

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
    if (low == std::numeric_limits<std::int64_t>::min())
        return "use a whole number";
    return high >= (std::int64_t { 1 } << 31) ? "use a whole number of at least " + std::to_string(low)
                                              : "use a whole number from " + std::to_string(low) + " to " + std::to_string(high);
}

const json& nothing()
{
    static const json kNothing = json::object();
    return kNothing;
}

} // namespace

JsonFields::JsonFields(const json& value, std::string file, std::string path)
    : m_value(value)
    , m_path(std::move(path))
    , m_own { std::move(file) }
{
    mustBeObject();
}

JsonFields::JsonFields(const json& value, Document document)
    : m_value(value)
    , m_own(std::move(document))
{
    mustBeObject();
}

JsonFields::JsonFields(JsonFields& parent, std::string_view key, const json& value, std::int64_t index)
    : m_value(value)
    , m_parent(&parent)
    , m_path(key)
    , m_index(index)
    , m_document(parent.m_document)
{
    mustBeObject();
}

JsonFields JsonFields::message(const json& value, std::string name)
{
    return JsonFields(value, Document { std::move(name), std::nullopt, true, true });
}

void JsonFields::mustBeObject()
{
    if (!m_value.is_object())
        fail({}, "expected an object, found " + shown(m_value), "write {...}");
    else if (!m_document->anyText)
        m_asked.reserve(m_value.size());
}

std::string JsonFields::path() const
{
    std::string out = m_parent != nullptr ? m_parent->path() : std::string();
    if (!out.empty() && !m_path.empty())
        out += '.';
    out += m_path;
    return m_index < 0 ? out : out + "[" + std::to_string(m_index) + "]";
}

std::string JsonFields::place(std::string_view key) const
{
    std::string out = path();
    if (!out.empty() && !key.empty())
        out += '.';
    out += key;
    return out.empty() ? m_document->file : m_document->file + ":" + out;
}

void JsonFields::adopt(const Error& error)
{
    if (!m_document->error)
        m_document->error = error;
}

void JsonFields::fail(std::string_view key, const std::string& what, const std::string& fix)
{
    if (!m_document->error)
        m_document->error = inputError(place(key), what, fix);
}

const json* JsonFields::find(std::string_view key)
{
    if (!m_value.is_object())
        return nullptr;
    const auto found = m_value.find(key);
    if (found == m_value.end())
        return nullptr;
    if (!m_document->anyText)
        m_asked.push_back(&*found);
    return m_document->nullIsAbsent && found->is_null() ? nullptr : &*found;
}

const json* JsonFields::need(std::string_view key)
{
    const json* value = find(key);
    if (value == nullptr)
        fail(key, "the key is missing", "add it");
    return value;
}

std::int64_t JsonFields::integer(std::string_view key, std::int64_t low, std::int64_t high, std::optional<std::int64_t> fallback)
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

double JsonFields::number(std::string_view key, double low, double high, std::optional<double> fallback)
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

bool JsonFields::flag(std::string_view key, std::optional<bool> fallback)
{
    const json* value = required(key, fallback.has_value());
    if (value && value->is_boolean())
        return value->get<bool>();
    if (value)
        fail(key, "cannot be " + shown(*value), "use true or false");
    return fallback.value_or(false);
}

std::string JsonFields::text(std::string_view key, const std::optional<std::string>& fallback)
{
    const json* value = required(key, fallback.has_value());
    if (value && value->is_string() && isName(key, value->get_ref<const std::string&>()))
        return value->get<std::string>();
    if (value && !value->is_string())
        fail(key, "cannot be " + shown(*value), "use a string in quotes");
    return fallback.value_or(std::string());
}

std::string JsonFields::prose(std::string_view key, const std::string& fallback)
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

bool JsonFields::isName(std::string_view key, const std::string& text)
{
    if (m_document->anyText)
        return true;
    const auto problem = nameProblem(text);
    if (problem)
        fail(key, "'" + shortened(visibleText(text), 80) + "' " + *problem, "write it without");
    return !problem;
}

bool JsonFields::isList(std::string_view key, const json& value)
{
    if (!value.is_array())
        fail(key, "is not a list", "use [...]");
    return value.is_array();
}

/// `take(item, out)` adds one item, or returns what is allowed in place of it; with nothing to say the problem is told already.
template <class T, class Take>
std::vector<T> JsonFields::list(std::string_view key, const char* use, Take take)
{
    std::vector<T> out;
    const json* value = find(key);
    if (!value)
        return out;
    if (!value->is_array()) {
        fail(key, "cannot be " + shown(*value), use);
        return out;
    }
    out.reserve(value->size());
    for (const json& item : *value)
        if (const std::optional<std::string> fix = take(item, out)) {
            fail(key, "holds " + shown(item), *fix);
            break;
        }
    return out;
}

std::vector<std::string> JsonFields::texts(std::string_view key)
{
    constexpr const char* kUse = "use a list of strings";
    return list<std::string>(key, kUse, [&](const json& item, auto& out) -> std::optional<std::string> {
        if (!item.is_string() || !isName(key, item.get_ref<const std::string&>()))
            return kUse;
        out.push_back(item.get<std::string>());
        return std::nullopt;
    });
}

std::vector<std::int64_t> JsonFields::integers(std::string_view key, std::int64_t low, std::int64_t high)
{
    return list<std::int64_t>(key, "use a list of whole numbers", [&](const json& item, auto& out) -> std::optional<std::string> {
        const auto number = integerOf(item);
        if (!number || *number < low || *number > high)
            return rangeText(low, high);
        out.push_back(*number);
        return std::nullopt;
    });
}

std::vector<std::vector<std::int64_t>> JsonFields::integerLists(std::string_view key, std::int64_t low, std::int64_t high)
{
    constexpr const char* kUse = "use a list of lists of whole numbers";
    using Lists = std::vector<std::vector<std::int64_t>>;
    return list<Lists::value_type>(key, kUse, [&](const json& item, Lists& out) -> std::optional<std::string> {
        const auto fits = [&](const json& entry) {
            const auto number = integerOf(entry);
            return number && *number >= low && *number <= high;
        };
        if (!item.is_array() || !std::ranges::all_of(item, fits))
            return kUse;
        out.push_back(item.get<Lists::value_type>());
        return std::nullopt;
    });
}

std::vector<double> JsonFields::numbers(std::string_view key, double low, double high)
{
    constexpr const char* kUse = "use a list of numbers";
    return list<double>(key, kUse, [&](const json& item, auto& out) -> std::optional<std::string> {
        const double number = item.is_number() ? item.get<double>() : std::numeric_limits<double>::quiet_NaN();
        if (!(number >= low && number <= high))
            return kUse;
        out.push_back(number);
        return std::nullopt;
    });
}

std::vector<bool> JsonFields::flags(std::string_view key)
{
    constexpr const char* kUse = "use a list of true and false";
    return list<bool>(key, kUse, [&](const json& item, auto& out) -> std::optional<std::string> {
        if (!item.is_boolean())
            return kUse;
        out.push_back(item.get<bool>());
        return std::nullopt;
    });
}

JsonFields JsonFields::object(std::string_view key)
{
    const json* value = need(key);
    return JsonFields(*this, key, value != nullptr ? *value : nothing(), -1);
}

json JsonFields::leftOver() const
{
    json out = json::object();
    if (m_value.is_object())
        for (const auto& [key, value] : m_value.items())
            if (!contains(m_asked, &value))
                out[key] = value;
    return out;
}

void JsonFields::close()
{
    if (!m_document->refusesUnknown || error())
        return;
    if (const json rest = leftOver(); !rest.empty())
        fail(rest.begin().key(), "is not a key of it", "remove it, or correct its spelling");
}

} // namespace shardboard
