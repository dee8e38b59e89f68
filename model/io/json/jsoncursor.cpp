// SPDX-License-Identifier: Apache-2.0
#include "model/io/problem/numbertext.h"

#include <algorithm>
#include <charconv>

namespace shardboard {

namespace {

constexpr int kDeepest = 64;
constexpr const char* kCheckJson = "check that the file is JSON and whole";

} // namespace

void NumberText::fail(const std::string& what, const std::string& fix)
{
    if (m_error)
        return;
    const std::size_t at = std::min(m_at, m_text.size());
    const std::string_view before = m_text.substr(0, at);
    const auto line = 1 + std::ranges::count(before, '\n');
    const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    m_error = inputError(m_where + ":" + std::to_string(line) + ":" + std::to_string(at - start + 1), what, fix);
    m_at = m_text.size();
}

void NumberText::blanks()
{
    while (m_at < m_text.size()) {
        const char byte = m_text[m_at];
        if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t')
            return;
        ++m_at;
    }
}

bool NumberText::take(char byte)
{
    blanks();
    if (m_at >= m_text.size() || m_text[m_at] != byte)
        return false;
    ++m_at;
    return true;
}

bool NumberText::open(char byte)
{
    if (m_error)
        return false;
    if (!take(byte)) {
        fail(byte == '[' ? "a list is expected here" : "an object is expected here", kCheckJson);
        return false;
    }
    if (++m_depth > kDeepest) {
        fail("lists and objects are nested too deeply", "a problem needs no more than five levels");
        return false;
    }
    return true;
}

bool NumberText::closes(char byte)
{
    if (!take(byte))
        return false;
    --m_depth;
    return true;
}

bool NumberText::goesOn(char end)
{
    if (m_error || take(end))
        return false;
    if (take(','))
        return true;
    fail(std::string("',' or '") + end + "' is missing", kCheckJson);
    return false;
}

std::int64_t NumberText::integer()
{
    blanks();
    if (m_error)
        return 0;
    const char* begin = m_text.data() + m_at;
    const char* end = m_text.data() + m_text.size();
    std::int64_t value = 0;
    const auto [rest, problem] = std::from_chars(begin, end, value);
    const bool whole = rest == end || (*rest != '.' && *rest != 'e' && *rest != 'E');
    if (problem == std::errc::result_out_of_range)
        fail("the number does not fit into 64 bits", "give whole numbers from -2^63 to 2^63 - 1");
    else if (problem != std::errc() || !whole)
        fail("a whole number is expected here", "costs, usages, and times are whole numbers");
    else
        m_at += static_cast<std::size_t>(rest - begin);
    return m_error ? 0 : value;
}

std::string NumberText::text()
{
    if (!take('"')) {
        fail("a text is expected here", kCheckJson);
        return {};
    }
    std::string out;
    while (m_at < m_text.size() && m_text[m_at] != '"') {
        if (m_text[m_at] == '\\') // only names may have escapes, and nobody looks at them
            out += m_text[m_at++];
        if (m_at < m_text.size())
            out += m_text[m_at++];
    }
    if (m_at >= m_text.size())
        fail("a text does not end", kCheckJson);
    else
        ++m_at;
    return m_error ? std::string() : out;
}

bool NumberText::word(std::string_view expected)
{
    blanks();
    if (m_error || m_text.substr(m_at, expected.size()) != expected)
        return false;
    m_at += expected.size();
    return true;
}

bool NumberText::takesNull() { return word("null"); }

void NumberText::skip()
{
    blanks();
    if (m_error)
        return;
    const char byte = m_at < m_text.size() ? m_text[m_at] : '\0';
    if (byte == '[')
        list([&] { skip(); });
    else if (byte == '{')
        object([&](const std::string&) { skip(); });
    else if (byte == '"')
        text();
    else if (!word("true") && !word("false") && !word("null")) {
        const std::size_t length = m_text.substr(m_at).find_first_not_of("+-.0123456789eE");
        if (length == 0 || m_at >= m_text.size())
            return fail("a value is expected here", kCheckJson);
        m_at = length == std::string_view::npos ? m_text.size() : m_at + length;
    }
}

void NumberText::end()
{
    blanks();
    if (!m_error && m_at != m_text.size())
        fail("the document goes on after its end", kCheckJson);
}

} // namespace shardboard
