// SPDX-License-Identifier: Apache-2.0
#include "model/io/json/jsontext.h"

#include "model/io/json/jsonguard.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace shardboard {

namespace {

using nlohmann::json;

/// What nlohmann/json says after its own numbering: `unexpected end of input; expected ',' or ']'`.
std::string plainProblem(const std::string& text)
{
    auto begin = text.find(" - ");
    begin = begin == std::string::npos ? text.find("] ") + 2 : begin + 3; // npos + 2 is 1: harmless, and never seen
    std::string out = text.substr(std::min(begin, text.size()));
    const auto last = out.find("; last read: ");
    if (last != std::string::npos) {
        const auto next = out.find("; expected", last);
        out.erase(last, next == std::string::npos ? std::string::npos : next - last);
    }
    if (const auto expected = out.find("; expected"); expected != std::string::npos)
        out[expected] = ','; // behind a semicolon stands what to do
    return "not valid JSON: " + out;
}

constexpr const char* kMendJson = "correct the file at this place, or check that it is complete and the right one";

/// Builds a document, counting its values and watching for keys that come twice.
class DocumentBuilder : public JsonEvents {
public:
    /// With a key the elements of that list of the top object go to `take`.
    explicit DocumentBuilder(const JsonLimits& limits, std::string key = {}, JsonTake take = {})
        : m_limits(limits)
        , m_listKey(std::move(key))
        , m_take(std::move(take))
    {
    }
    json take() { return std::move(m_root); }
    const std::optional<Error>& refused() const { return m_refused; }

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(json::number_integer_t value) override { return add(value); }
    bool number_unsigned(json::number_unsigned_t value) override { return add(value); }
    bool number_float(json::number_float_t value, const std::string&) override { return add(value); }
    bool string(std::string& value) override { return add(std::move(value)); }
    bool binary(json::binary_t&) override { return false; }
    bool start_object(std::size_t) override { return open(json::object()); }
    bool start_array(std::size_t) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(std::string& name) override
    {
        const auto [slot, isNew] = m_open.back()->emplace(name, nullptr);
        if (!isNew && !m_limits.lastDuplicateWins)
            return refuse("the key '" + name + "' appears twice in one object", "keep one of them");
        m_slot = &*slot;
        if (m_open.size() == 1)
            m_topKey = name;
        return true;
    }

private:
    json* place(json value)
    {
        if (m_open.empty()) {
            m_root = std::move(value);
            return &m_root;
        }
        if (m_open.back()->is_array()) {
            m_open.back()->push_back(std::move(value));
            return &m_open.back()->back();
        }
        *m_slot = std::move(value);
        return m_slot;
    }
    bool add(json value)
    {
        if (++m_values > m_limits.values)
            return refuse("more than " + std::to_string(m_limits.values) + " values", "check that this is the right file");
        place(std::move(value));
        return handOver();
    }
    bool open(json value)
    {
        if (++m_values > m_limits.values)
            return refuse("more than " + std::to_string(m_limits.values) + " values", "check that this is the right file");
        m_open.push_back(place(std::move(value)));
        return true;
    }
    bool close()
    {
        m_open.pop_back();
        return handOver();
    }
    /// The last element of the list that somebody takes, once it is whole.
    bool handOver()
    {
        if (!m_take || m_open.size() != 2 || m_topKey != m_listKey || !m_open.back()->is_array() || m_open.back()->empty())
            return true;
        json element = std::move(m_open.back()->back());
        m_open.back()->clear();
        const Status status = m_take(m_root, std::move(element));
        if (!status.ok())
            m_refused = status.error();
        return status.ok();
    }

    JsonLimits m_limits;
    std::string m_listKey;
    JsonTake m_take;
    std::string m_topKey; ///< the last one of the top object
    std::optional<Error> m_refused;
    json m_root;
    std::vector<json*> m_open; ///< objects and arrays that are not closed yet; an inner one never moves while it is open
    json* m_slot = nullptr; ///< of the last key
    std::size_t m_values = 0;
};

} // namespace

bool JsonEvents::parse_error(std::size_t, const std::string&, const json::exception& problem)
{
    return refuse(plainProblem(problem.what()));
}

bool JsonEvents::refuse(std::string problem, std::string fix)
{
    m_problem = std::move(problem);
    m_fix = std::move(fix);
    return false;
}

Status readJsonEvents(const JsonSource& source, JsonEvents& events, const std::string& where, const JsonLimits& limits,
                      bool cutLongTexts)
{
    JsonGuard guard(source, limits, cutLongTexts);
    bool read = false;
    try {
        read = json::sax_parse(JsonGuard::Iterator(&guard), JsonGuard::Iterator(), &events);
    } catch (const std::exception& problem) { // a number out of range throws in spite of the events
        return inputError(where + ":" + guard.place(), plainProblem(problem.what()), kMendJson);
    }
    if (!guard.problem().empty())
        return inputError(where + ":" + guard.place(), guard.problem(), "check that this is the right file");
    if (!read)
        return inputError(where + ":" + guard.place(), events.problem().empty() ? "not valid JSON" : events.problem(),
                          events.fix().empty() ? kMendJson : events.fix());
    return done();
}

JsonSource jsonSource(const std::string& text)
{
    return [&text, position = std::size_t { 0 }](char* buffer, std::size_t size) mutable {
        const std::size_t count = std::min(size, text.size() - position);
        std::memcpy(buffer, text.data() + position, count);
        position += count;
        return count;
    };
}

Result<json> parseJsonList(const JsonSource& source, const std::string& where, const std::string& key, const JsonTake& take,
                           const JsonLimits& limits)
{
    DocumentBuilder builder(limits, key, take);
    const Status status = readJsonEvents(source, builder, where, limits);
    if (builder.refused())
        return *builder.refused();
    if (!status.ok())
        return status.error();
    return builder.take();
}

Result<json> parseJson(const std::string& text, const std::string& where, const JsonLimits& limits)
{
    DocumentBuilder builder(limits);
    if (const auto status = readJsonEvents(jsonSource(text), builder, where, limits); !status.ok())
        return status.error();
    return builder.take();
}

} // namespace shardboard
