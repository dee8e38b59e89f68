// SPDX-License-Identifier: Apache-2.0
// The one reader of JSON documents, whoever wrote them: the keys of one object, with checks of presence, type and range. The first
// problem of a document sticks and names FILE:KEY; later reads give defaults, so that reading code stays flat and asks once at its
// end. What is both read and written declares its keys once for both: jsonmembers.h.
#pragma once

#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

class JsonFields {
public:
    /// `file` and the path of keys to the object (`model`, empty at the top) name the place in errors. The value must outlive the
    /// reader, and a reader those of the objects in it.
    JsonFields(const nlohmann::json& value, std::string file, std::string path = {});
    JsonFields(nlohmann::json&& value, std::string file, std::string path = {}) = delete;
    /// What a program of ours says to another one: a null is as good as no key, texts may hold anything, and keys that nobody asks
    /// for are left alone.
    static JsonFields message(const nlohmann::json& value, std::string name);
    static JsonFields message(nlohmann::json&& value, std::string name) = delete;
    JsonFields(const JsonFields&) = delete;
    JsonFields& operator=(const JsonFields&) = delete;

    /// The value of a key, or nothing when it is absent. A null is absent only with nullIsAbsent().
    const nlohmann::json* find(std::string_view key);
    /// The same of a key that has to be there.
    const nlohmann::json* need(std::string_view key);
    /// Whether the key is there, be it null.
    bool holds(std::string_view key) const { return m_value.is_object() && m_value.contains(key); }
    void nullIsAbsent() { m_document->nullIsAbsent = true; }
    /// Here and in the objects below: close() refuses keys that nobody asked for.
    void refuseUnknown() { m_document->refusesUnknown = true; }

    /// A key without a fallback is required. Ranges are inclusive.
    std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high,
                         std::optional<std::int64_t> fallback = std::nullopt);
    double number(std::string_view key, double low, double high, std::optional<double> fallback = std::nullopt);
    bool flag(std::string_view key, std::optional<bool> fallback = std::nullopt);
    /// Texts are names, and are refused where they hold what is obeyed rather than shown (nameProblem).
    std::string text(std::string_view key, const std::optional<std::string>& fallback = std::nullopt);
    /// For people, possibly of several lines.
    std::string prose(std::string_view key, const std::string& fallback);
    /// Refuses a text, or a key, that cannot be a name.
    bool isName(std::string_view key, const std::string& text);

    /// Lists; empty when the key is absent.
    std::vector<std::string> texts(std::string_view key);
    std::vector<std::int64_t> integers(std::string_view key, std::int64_t low, std::int64_t high);
    std::vector<std::vector<std::int64_t>> integerLists(std::string_view key, std::int64_t low, std::int64_t high);
    std::vector<double> numbers(std::string_view key, double low, double high);
    std::vector<bool> flags(std::string_view key);

    /// The object under a key that has to be there.
    JsonFields object(std::string_view key);
    /// Calls `each(JsonFields&)` for the objects of a list that has to be there, up to the first problem.
    template <class Each>
    void objects(std::string_view key, Each each)
    {
        const nlohmann::json* list = need(key);
        if (list == nullptr || !isList(key, *list))
            return;
        for (std::size_t i = 0; i < list->size() && !error(); ++i) {
            JsonFields item(*this, key, (*list)[i], static_cast<std::int64_t>(i));
            if (!error())
                each(item);
        }
    }

    /// `FILE:path.key`
    std::string place(std::string_view key = {}) const;
    void fail(std::string_view key, const std::string& what, const std::string& fix);
    void adopt(const Error& error);
    /// Of the whole document.
    const std::optional<Error>& error() const { return m_document->error; }
    /// The keys that nobody asked for.
    nlohmann::json leftOver() const;
    /// After the last key: with refuseUnknown() one that nobody asked for is refused.
    void close();

private:
    struct Document {
        std::string file;
        std::optional<Error> error {};
        bool nullIsAbsent = false;
        bool anyText = false; ///< a message: also counts no keys
        bool refusesUnknown = false;
    };

    JsonFields(JsonFields& parent, std::string_view key, const nlohmann::json& value, std::int64_t index);
    JsonFields(const nlohmann::json& value, Document document);
    void mustBeObject();
    const nlohmann::json* required(std::string_view key, bool hasFallback) { return hasFallback ? find(key) : need(key); }
    bool isList(std::string_view key, const nlohmann::json& value);
    template <class T, class Take>
    std::vector<T> list(std::string_view key, const char* use, Take take);
    std::string path() const;

    const nlohmann::json& m_value;
    JsonFields* m_parent = nullptr;
    std::string m_path; ///< from the parent, or from the top of the file
    std::int64_t m_index = -1; ///< in the list of that name
    Document m_own {};
    Document* m_document = &m_own;
    std::vector<const nlohmann::json*> m_asked; ///< values of the keys that somebody asked for
};

} // namespace shardboard
