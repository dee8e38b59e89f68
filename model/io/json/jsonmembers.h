// SPDX-License-Identifier: Apache-2.0
// The keys of a struct, declared once for writing, reading and checking:
//
//   template <class Each, MembersOf<Packing> Struct>
//   void jsonMembers(Each& each, Struct& packing)
//   {
//       each.value("bytes_per_second", packing.bytesPerSecond, { 0 });      // always there; at least 0
//       each.usual("free_bytes", packing.freeBytes);                        // may be absent: stays what it is
//       each.unless("workers", packing.workers, 1);                         // left out where it is 1
//       each.value("unpacked_efficiency", packing.unpackedEfficiency);      // of an optional: absent where there is none
//   }
//
// in the namespace of the struct. Members are numbers, flags, texts, enumerations (jsonWords), other such structs, and lists and
// optionals of these. What only one direction has: derived() is written and not read, check() runs only where it is read, and
// `if constexpr (Each::kReads)` is for what changes the struct.
#pragma once

#include "model/core/id.h"
#include "model/io/json/jsonfields.h"

#include <cmath>
#include <concepts>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shardboard {

/// T, or const T where it is written.
template <class Struct, class T>
concept MembersOf = std::same_as<std::remove_const_t<Struct>, T>;

/// What `jsonWords(Enumeration)` beside an enumeration returns: how its values are called, and for messages what there is.
template <class Name, class FromName>
struct JsonWords {
    Name name;
    FromName fromName;
    const char* known; ///< `flash or unfused`
};
template <class Name, class FromName>
JsonWords(Name, FromName, const char*) -> JsonWords<Name, FromName>;

/// Inclusive; of anything but numbers there are none.
template <class T>
struct JsonBounds {
};
template <class T>
requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>) struct JsonBounds<T> {
    T low = std::numeric_limits<T>::lowest();
    T high = std::numeric_limits<T>::max();
};
/// Of a list those of its items.
template <class T>
struct JsonBounded {
    using Type = T;
};
template <class T>
struct JsonBounded<std::vector<T>> : JsonBounded<T> {
};
/// An id is its number, -1 for none.
template <class Of>
struct JsonBounded<Id<Of>> {
    using Type = int;
};
template <class T>
using JsonBoundsOf = JsonBounds<typename JsonBounded<T>::Type>;

class JsonMembersWriter {
public:
    static constexpr bool kReads = false;

    explicit JsonMembersWriter(nlohmann::json& out)
        : m_out(out)
    {
    }

    template <class T>
    void value(const char* key, const T& member, const JsonBoundsOf<T>& = {})
    {
        m_out[key] = made(member);
    }
    template <class T>
    void value(const char* key, const std::optional<T>& member, const JsonBoundsOf<T>& = {})
    {
        if (member)
            m_out[key] = made(*member);
    }
    template <class T>
    void usual(const char* key, const T& member, const JsonBoundsOf<T>& = {})
    {
        m_out[key] = made(member);
    }
    template <class T>
    void unless(const char* key, const T& member, const std::type_identity_t<T>& usual, const JsonBoundsOf<T>& = {})
    {
        if (!(member == usual))
            m_out[key] = made(member);
    }
    void prose(const char* key, const std::string& member) { m_out[key] = member; }
    /// JSON has no infinity: it is null. `there` tells the writer whether to write it; it may be absent.
    void finite(const char* key, double member, bool there = true)
    {
        if (there)
            m_out[key] = std::isfinite(member) ? nlohmann::json(member) : nlohmann::json();
    }
    template <class T, class Code>
    void text(const char* key, const T& member, const Code& code)
    {
        m_out[key] = code.text(member);
    }
    /// An object of these members.
    template <class Part>
    void group(const char* key, Part part)
    {
        JsonMembersWriter inner(m_out[key] = nlohmann::json::object());
        part(inner);
    }
    /// The same where it is `there`; it may be absent.
    template <class Part>
    void groupIfAny(const char* key, Part part, bool there = true)
    {
        if (there)
            group(key, std::move(part));
    }
    /// A list of objects, each with the members that `part(each, item)` says.
    template <class T, class Part>
    void list(const char* key, const std::vector<T>& items, Part part)
    {
        auto out = nlohmann::json::array();
        out.get_ref<nlohmann::json::array_t&>().reserve(items.size());
        for (const T& item : items) {
            JsonMembersWriter inner(out.emplace_back(nlohmann::json::object()));
            part(inner, item);
        }
        m_out[key] = std::move(out);
    }
    template <class Make>
    void derived(const char* key, Make make)
    {
        m_out[key] = made(make());
    }
    template <class Check>
    void check(Check /*check*/)
    {
    }
    nlohmann::json& out() { return m_out; }

private:
    template <class T>
    static nlohmann::json made(const T& member)
    {
        if constexpr (requires { jsonWords(member); })
            return jsonWords(member).name(member);
        else if constexpr (requires { member.number(); })
            return member.number();
        else if constexpr (requires(JsonMembersWriter & writer) { jsonMembers(writer, member); }) {
            auto out = nlohmann::json::object();
            JsonMembersWriter writer(out);
            jsonMembers(writer, member);
            return out;
        } else
            return member;
    }
    template <class T>
    requires(!std::is_arithmetic_v<T>) static nlohmann::json made(const std::vector<T>& list)
    {
        auto out = nlohmann::json::array();
        for (const T& item : list)
            out.push_back(made(item));
        return out;
    }

    nlohmann::json& m_out;
};

class JsonMembersReader {
public:
    static constexpr bool kReads = true;

    explicit JsonMembersReader(JsonFields& from)
        : m_from(from)
    {
    }

    template <class T>
    void value(const char* key, T& member, const JsonBoundsOf<T>& bounds = {})
    {
        read(key, member, bounds, true);
    }
    template <class T>
    void value(const char* key, std::optional<T>& member, const JsonBoundsOf<T>& bounds = {})
    {
        const nlohmann::json* there = m_from.find(key);
        if (there != nullptr && !there->is_null())
            read(key, member.emplace(), bounds, true);
        else
            member.reset();
    }
    template <class T>
    void usual(const char* key, T& member, const JsonBoundsOf<T>& bounds = {})
    {
        read(key, member, bounds, false);
    }
    template <class T>
    void unless(const char* key, T& member, const std::type_identity_t<T>& usual, const JsonBoundsOf<T>& bounds = {})
    {
        member = usual;
        read(key, member, bounds, false);
    }
    void prose(const char* key, std::string& member) { member = m_from.prose(key, member); }
    void finite(const char* key, double& member, bool /*there*/ = true)
    {
        if (m_from.holds(key) && m_from.find(key) == nullptr)
            member = std::numeric_limits<double>::infinity();
        else
            read(key, member, {}, false);
    }
    /// A text for which `code` stands: code.text(member) makes it, code.parse(text, place) reads it as a Result.
    template <class T, class Code>
    void text(const char* key, T& member, const Code& code)
    {
        const std::string text = m_from.text(key);
        if (m_from.error())
            return;
        auto parsed = code.parse(text, m_from.place(key));
        if (parsed.ok())
            member = std::move(parsed).value();
        else
            m_from.fail(key, parsed.error().what, parsed.error().fix);
    }
    template <class Part>
    void group(const char* key, Part part)
    {
        JsonFields inner = m_from.object(key);
        JsonMembersReader reader(inner);
        part(reader);
        inner.close();
    }
    template <class Part>
    void groupIfAny(const char* key, Part part, bool /*there*/ = true)
    {
        if (m_from.find(key) != nullptr)
            group(key, std::move(part));
    }
    template <class T, class Part>
    void list(const char* key, std::vector<T>& items, Part part)
    {
        items.clear();
        m_from.objects(key, [&](JsonFields& from) {
            JsonMembersReader reader(from);
            part(reader, items.emplace_back());
            from.close();
        });
    }
    template <class Make>
    void derived(const char* key, Make /*make*/)
    {
        m_from.find(key);
    }
    JsonFields& from() { return m_from; }
    /// `check(JsonFields&)`, unless something was wrong before.
    template <class Check>
    void check(Check check)
    {
        if (!m_from.error())
            check(m_from);
    }

private:
    template <class T>
    void read(const char* key, T& member, const JsonBounds<T>& bounds, bool required)
    {
        const auto fallback = [&] { return required ? std::nullopt : std::optional<T>(member); };
        if constexpr (std::same_as<T, bool>)
            member = m_from.flag(key, fallback());
        else if constexpr (std::same_as<T, std::uint64_t>)
            readWord(key, member, required);
        else if constexpr (std::is_integral_v<T>)
            member = static_cast<T>(m_from.integer(key, bounds.low, bounds.high, fallback()));
        else if constexpr (std::is_floating_point_v<T>)
            member = m_from.number(key, bounds.low, bounds.high, fallback());
        else if constexpr (std::same_as<T, std::string>)
            member = m_from.text(key, fallback());
        else if constexpr (requires { jsonWords(member); })
            readWords(key, member, required);
        else if (required || m_from.find(key) != nullptr) {
            JsonFields inner = m_from.object(key);
            JsonMembersReader reader(inner);
            jsonMembers(reader, member);
            inner.close();
        }
    }
    template <class T>
    void read(const char* key, std::vector<T>& member, const JsonBoundsOf<T>& bounds, bool required)
    {
        if (required ? m_from.need(key) == nullptr : m_from.find(key) == nullptr)
            return;
        if constexpr (std::same_as<T, std::string>)
            member = m_from.texts(key);
        else if constexpr (std::same_as<T, bool>)
            member = m_from.flags(key);
        else if constexpr (std::same_as<T, std::int64_t>)
            member = m_from.integers(key, bounds.low, bounds.high);
        else if constexpr (std::same_as<T, std::vector<std::int64_t>> || std::same_as<T, std::vector<int>>) {
            member.clear();
            for (const auto& items : m_from.integerLists(key, bounds.low, bounds.high))
                member.emplace_back(items.begin(), items.end());
        } else if constexpr (std::same_as<T, int>) {
            const auto items = m_from.integers(key, bounds.low, bounds.high);
            member.assign(items.begin(), items.end());
        } else if constexpr (std::same_as<T, double>)
            member = m_from.numbers(key, bounds.low, bounds.high);
        else
            list(key, member, [](auto& each, T& item) { jsonMembers(each, item); });
    }
    template <class Of>
    void read(const char* key, Id<Of>& member, const JsonBounds<int>& bounds, bool required)
    {
        int number = member.number();
        read(key, number, bounds, required);
        member = Id<Of>(number);
    }
    template <class Of>
    void read(const char* key, std::vector<Id<Of>>& member, const JsonBounds<int>& bounds, bool required)
    {
        if (required ? m_from.need(key) == nullptr : m_from.find(key) == nullptr)
            return;
        member.clear();
        for (const std::int64_t number : m_from.integers(key, bounds.low, bounds.high))
            member.emplace_back(number);
    }
    template <class T>
    void readWords(const char* key, T& member, bool required)
    {
        if (!required && m_from.find(key) == nullptr)
            return;
        const auto words = jsonWords(member);
        const std::string text = m_from.text(key);
        const std::optional<T> found = words.fromName(text);
        if (found)
            member = *found;
        else
            m_from.fail(key, "cannot be '" + text + "'", std::string("use ") + words.known);
    }
    /// All 64 bits of it.
    void readWord(const char* key, std::uint64_t& member, bool required)
    {
        const nlohmann::json* there = required ? m_from.need(key) : m_from.find(key);
        if (there != nullptr && there->is_number_unsigned())
            member = there->get<std::uint64_t>();
        else if (there != nullptr)
            m_from.integer(key, 0, std::numeric_limits<std::int64_t>::max()); // says what is wrong
    }

    JsonFields& m_from;
};

template <class T>
nlohmann::json jsonOf(const T& value)
{
    auto out = nlohmann::json::object();
    JsonMembersWriter writer(out);
    jsonMembers(writer, value);
    return out;
}

/// The members of the object that `from` reads.
template <class T>
void readMembers(JsonFields& from, T& out)
{
    JsonMembersReader reader(from);
    jsonMembers(reader, out);
    from.close();
}

/// What a program of ours says to another one; `name` stands in errors.
template <class T>
Result<T> messageFromJson(const nlohmann::json& value, const std::string& name)
{
    T out;
    JsonFields from = JsonFields::message(value, name);
    readMembers(from, out);
    if (from.error())
        return *from.error();
    return out;
}

} // namespace shardboard
