// SPDX-License-Identifier: Apache-2.0
// Reads the keys of one JSON object with checks. The first problem sticks and names FILE:KEY; later reads then give
// defaults, so that a reader asks once at its end.
#pragma once

#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shardboard {

class JsonFields {
public:
    /// `file` and the path of keys to the object (`model`, empty at the top) name the place in errors.
    JsonFields(const nlohmann::json& value, std::string file, std::string path);

    /// The value of a key, or nothing when it is absent. A null is absent only with nullIsAbsent().
    const nlohmann::json* find(const std::string& key);
    /// Whether the key is there, be it null.
    bool holds(const std::string& key) const { return m_value.is_object() && m_value.contains(key); }
    void nullIsAbsent() { m_nullIsAbsent = true; }

    /// A key without a fallback is required. Ranges are inclusive.
    std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high,
                         std::optional<std::int64_t> fallback = std::nullopt);
    double number(const std::string& key, double low, double high, std::optional<double> fallback = std::nullopt);
    bool flag(const std::string& key, std::optional<bool> fallback = std::nullopt);
    /// Texts are names, and are refused where they hold what is obeyed rather than shown (nameProblem).
    std::string text(const std::string& key, const std::optional<std::string>& fallback = std::nullopt);
    std::vector<std::string> texts(const std::string& key);
    /// For people, possibly of several lines.
    std::string prose(const std::string& key, const std::string& fallback);
    /// Refuses a text, or a key, that cannot be a name.
    bool isName(const std::string& key, const std::string& text);
    std::vector<std::int64_t> integers(const std::string& key, std::int64_t low, std::int64_t high);

    /// `FILE:path.key`
    std::string place(const std::string& key = {}) const;
    void fail(const std::string& key, const std::string& what, const std::string& fix);
    void adopt(const Error& error);
    const std::optional<Error>& error() const { return m_error; }
    /// The keys that nobody asked for.
    nlohmann::json leftOver() const;

private:
    const nlohmann::json* required(const std::string& key, bool hasFallback);

    const nlohmann::json& m_value;
    std::string m_file;
    std::string m_path;
    bool m_nullIsAbsent = false;
    std::set<std::string> m_asked;
    std::optional<Error> m_error;
};

} // namespace shardboard
