// SPDX-License-Identifier: Apache-2.0
// Reads a JSON document that somebody else wrote. Every getter checks presence, type and range; the first thing wrong is
// remembered with its path (`mesh.sizes[1]`), and from then on getters return defaults, so that reading code stays flat and asks
// once at the end.
#pragma once

#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

class JsonReader {
public:
    /// `where` names the document in errors: `FILE:mesh.sizes[1]`. The document must outlive the reader.
    JsonReader(const nlohmann::json& document, const std::string& where)
        : m_value(&document)
        , m_state(std::make_shared<State>(State { where, std::nullopt }))
    {
    }

    bool ok() const { return !m_state->error; }
    const Error& error() const { return *m_state->error; }
    std::string where() const { return m_state->where + (m_path.empty() ? "" : ":" + m_path); }
    const nlohmann::json& value() const { return *m_value; }

    /// Remembers that this place is wrong, unless something was wrong before.
    void fail(const std::string& what, const std::string& fix = {})
    {
        if (!m_state->error)
            m_state->error = inputError(where(), what, fix);
    }

    bool has(const std::string& key) const { return m_value->is_object() && m_value->contains(key) && !(*m_value)[key].is_null(); }

    JsonReader child(const std::string& key)
    {
        static const nlohmann::json kNothing;
        JsonReader out(*this);
        out.m_path += (m_path.empty() ? "" : ".") + key;
        out.m_value = &kNothing;
        if (!m_value->is_object())
            fail("an object is expected here");
        else if (const auto it = m_value->find(key); it != m_value->end())
            out.m_value = &*it;
        else
            fail("the key '" + key + "' is missing");
        return out;
    }

    /// Elements of an array.
    std::vector<JsonReader> items(const std::string& key)
    {
        JsonReader list = child(key);
        std::vector<JsonReader> out;
        if (!list.m_value->is_array()) {
            list.fail("a list is expected here");
            return out;
        }
        for (std::size_t i = 0; i < list.m_value->size(); ++i) {
            out.push_back(list);
            out.back().m_value = &(*list.m_value)[i];
            out.back().m_path += "[" + std::to_string(i) + "]";
        }
        return out;
    }

    std::string text(const std::string& key) { return child(key).asText(); }
    bool boolean(const std::string& key) { return child(key).asBoolean(); }
    double number(const std::string& key) { return child(key).asNumber(); }
    std::int64_t integer(const std::string& key, std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                         std::int64_t most = std::numeric_limits<std::int64_t>::max())
    {
        return child(key).asInteger(least, most);
    }

    /// For keys that may be missing: `out` then keeps its value.
    void readText(const std::string& key, std::string& out)
    {
        if (has(key))
            out = text(key);
    }
    void readBoolean(const std::string& key, bool& out)
    {
        if (has(key))
            out = boolean(key);
    }
    void readInteger(const std::string& key, std::int64_t& out, std::int64_t least)
    {
        if (has(key))
            out = integer(key, least);
    }
    void readNumber(const std::string& key, double& out)
    {
        if (has(key))
            out = number(key);
    }

    std::string asText()
    {
        if (m_value->is_string())
            return m_value->get<std::string>();
        fail("a string is expected here");
        return {};
    }
    bool asBoolean()
    {
        if (m_value->is_boolean())
            return m_value->get<bool>();
        fail("true or false is expected here");
        return false;
    }
    double asNumber()
    {
        if (m_value->is_number())
            return m_value->get<double>();
        fail("a number is expected here");
        return 0;
    }
    std::int64_t asInteger(std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                           std::int64_t most = std::numeric_limits<std::int64_t>::max())
    {
        constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        const bool huge = m_value->is_number_unsigned() && m_value->get<std::uint64_t>() > kLargest;
        if (!m_value->is_number_integer() || huge) {
            fail("a whole number is expected here");
            return least > 0 ? least : 0;
        }
        const auto value = m_value->get<std::int64_t>();
        if (value < least || value > most) {
            fail("the number " + std::to_string(value) + " is out of range",
                 "use " + std::to_string(least) + " to " + std::to_string(most));
            return least;
        }
        return value;
    }

private:
    struct State {
        std::string where;
        std::optional<Error> error;
    };

    const nlohmann::json* m_value;
    std::string m_path;
    std::shared_ptr<State> m_state;
};

} // namespace shardboard
