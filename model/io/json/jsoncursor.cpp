// SPDX-License-Identifier: Apache-2.0
#include "model/io/json/jsoncursor.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace shardboard {

namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kPiece = std::size_t { 1 } << 20;
constexpr std::size_t kLongestText = std::size_t { 64 } << 20;

void appendUtf8(std::string& out, unsigned code)
{
    const auto byte = [&](unsigned value) { out += static_cast<char>(value); };
    if (code < 0x80) {
        byte(code);
    } else if (code < 0x800) {
        byte(0xC0U | (code >> 6U));
        byte(0x80U | (code & 0x3FU));
    } else if (code < 0x10000) {
        byte(0xE0U | (code >> 12U));
        byte(0x80U | ((code >> 6U) & 0x3FU));
        byte(0x80U | (code & 0x3FU));
    } else {
        byte(0xF0U | (code >> 18U));
        byte(0x80U | ((code >> 12U) & 0x3FU));
        byte(0x80U | ((code >> 6U) & 0x3FU));
        byte(0x80U | (code & 0x3FU));
    }
}

} // namespace

JsonCursor::JsonCursor(std::string_view text, std::string where)
    : m_text(text)
    , m_where(std::move(where))
{
}

JsonCursor::JsonCursor(JsonSource source, std::string where)
    : m_where(std::move(where))
    , m_source(std::move(source))
{
}

/// Reads on, and lets go of what lies before the token that is being read.
bool JsonCursor::more()
{
    if (!m_source)
        return false;
    const std::size_t keep = m_inToken ? m_keep : m_at;
    if (m_text.size() - keep > kLongestText) {
        fail("a text or number is longer than 64 MiB", kCheckJson);
        return false;
    }
    const std::string_view gone = m_text.substr(0, keep);
    m_lines += static_cast<std::size_t>(std::ranges::count(gone, '\n'));
    const std::size_t last = gone.rfind('\n');
    m_column = last == std::string_view::npos ? m_column + gone.size() : gone.size() - last - 1;
    const std::size_t left = m_text.size() - keep;
    std::memmove(m_buffer.data(), m_buffer.data() + keep, left);
    if (m_buffer.size() < left + kPiece)
        m_buffer.resize(left + kPiece);
    const std::size_t got = m_source(m_buffer.data() + left, m_buffer.size() - left);
    if (got == 0)
        m_source = nullptr;
    m_text = std::string_view(m_buffer.data(), left + got);
    m_at -= keep;
    m_keep = 0;
    return got > 0;
}

void JsonCursor::fail(const std::string& what, const std::string& fix)
{
    if (m_error)
        return;
    const std::size_t at = std::min(m_at, m_text.size());
    m_cutOff = at == m_text.size();
    const std::string_view before = m_text.substr(0, at);
    const auto lines = static_cast<std::size_t>(std::ranges::count(before, '\n'));
    const std::size_t column = lines == 0 ? m_column + at : at - before.rfind('\n') - 1;
    m_error = inputError(m_where + ":" + std::to_string(1 + m_lines + lines) + ":" + std::to_string(column + 1), what, fix);
    m_at = m_text.size();
    m_source = nullptr;
}

void JsonCursor::blanks()
{
    while (has()) {
        const char byte = m_text[m_at];
        if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t')
            return;
        ++m_at;
    }
}

char JsonCursor::next()
{
    blanks();
    return m_at < m_text.size() ? m_text[m_at] : '\0';
}

bool JsonCursor::take(char byte)
{
    if (m_error || next() != byte || m_at >= m_text.size())
        return false;
    ++m_at;
    return true;
}

bool JsonCursor::open(char byte)
{
    if (m_error)
        return false;
    if (!take(byte)) {
        fail(byte == '[' ? "a list is expected here" : "an object is expected here", kCheckJson);
        return false;
    }
    if (++m_depth > kDeepest) {
        fail("lists and objects are nested too deeply", "files of this kind need only a few levels");
        return false;
    }
    return true;
}

bool JsonCursor::closes(char byte)
{
    if (!take(byte))
        return false;
    --m_depth;
    return true;
}

bool JsonCursor::goesOn(char end)
{
    if (m_error || take(end))
        return false;
    if (take(','))
        return true;
    fail(std::string("',' or '") + end + "' is missing", kCheckJson);
    return false;
}

std::string_view JsonCursor::number()
{
    blanks();
    if (m_error)
        return {};
    m_keep = m_at;
    m_inToken = true;
    const auto belongs = [](char byte) {
        return (byte >= '0' && byte <= '9') || byte == '-' || byte == '+' || byte == '.' || byte == 'e' || byte == 'E';
    };
    while (has() && belongs(m_text[m_at]))
        ++m_at;
    m_inToken = false;
    if (m_at == m_keep)
        fail("a number is expected here", kCheckJson);
    return m_error ? std::string_view() : m_text.substr(m_keep, m_at - m_keep);
}

std::int64_t JsonCursor::integer()
{
    constexpr const char* kNotWhole = "a whole number is expected here";
    constexpr const char* kGiveWhole = "costs, usages, and times are whole numbers";
    if (const char byte = next(); byte != '-' && (byte < '0' || byte > '9')) {
        fail(kNotWhole, kGiveWhole);
        return 0;
    }
    const std::string_view digits = number();
    if (m_error)
        return 0;
    std::int64_t value = 0;
    const auto [rest, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = rest == digits.data() + digits.size();
    if (problem == std::errc() && whole)
        return value;
    m_at = m_keep; // the place to name
    if (problem == std::errc::result_out_of_range)
        fail("the number does not fit into 64 bits", "give whole numbers from -2^63 to 2^63 - 1");
    else
        fail(kNotWhole, kGiveWhole);
    return 0;
}

unsigned JsonCursor::hexDigits()
{
    unsigned value = 0;
    for (int i = 0; i < 4; ++i) {
        if (!has())
            return 0;
        const char byte = m_text[m_at];
        unsigned digit = 16;
        const auto [rest, problem] = std::from_chars(&byte, &byte + 1, digit, 16);
        if (problem != std::errc() || digit > 15) {
            fail("four hexadecimal digits are expected here", kCheckJson);
            return 0;
        }
        value = 16 * value + digit;
        ++m_at;
    }
    return value;
}

/// What follows a backslash, appended to m_decoded.
void JsonCursor::escape()
{
    if (!has())
        return;
    const char byte = m_text[m_at++];
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kBytes = "\"\\/\b\f\n\r\t";
    if (const std::size_t at = kNames.find(byte); at != std::string_view::npos) {
        m_decoded += kBytes[at];
        return;
    }
    if (byte != 'u') {
        --m_at;
        return fail("there is no such escape", kCheckJson);
    }
    unsigned code = hexDigits();
    if (code >= 0xD800 && code < 0xDC00 && has() && m_text[m_at] == '\\') {
        ++m_at;
        if (has() && m_text[m_at] == 'u') {
            ++m_at;
            const unsigned low = hexDigits();
            code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00) : 0xFFFD;
        }
    }
    appendUtf8(m_decoded, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code); // half a surrogate pair is no character
}

std::string_view JsonCursor::text()
{
    if (!take('"')) {
        fail("a text is expected here", kCheckJson);
        return {};
    }
    m_keep = m_at;
    m_inToken = true;
    bool decoded = false;
    std::size_t plain = 0; // what is not in m_decoded yet begins here, from m_keep on
    while (has() && m_text[m_at] != '"') {
        if (m_text[m_at] != '\\') {
            while (m_at < m_text.size() && m_text[m_at] != '"' && m_text[m_at] != '\\')
                ++m_at;
            continue;
        }
        if (!decoded)
            m_decoded.clear();
        decoded = true;
        m_decoded.append(m_text, m_keep + plain, m_at - m_keep - plain);
        ++m_at;
        escape();
        if (m_error)
            break;
        plain = m_at - m_keep;
    }
    m_inToken = false;
    if (m_at >= m_text.size())
        fail("a text does not end", kCheckJson);
    if (m_error)
        return {};
    ++m_at;
    if (!decoded)
        return m_text.substr(m_keep, m_at - 1 - m_keep);
    m_decoded.append(m_text, m_keep + plain, m_at - 1 - m_keep - plain);
    return m_decoded;
}

bool JsonCursor::word(std::string_view expected)
{
    blanks();
    m_keep = m_at;
    m_inToken = true;
    while (!m_error && m_text.size() - m_at < expected.size() && more()) { }
    m_inToken = false;
    if (m_error || m_text.substr(m_at, expected.size()) != expected)
        return false;
    m_at += expected.size();
    return true;
}

bool JsonCursor::takesNull() { return next() == 'n' && word("null"); }

/// As object(), without a copy of each key.
void JsonCursor::skipObject()
{
    if (!open('{') || closes('}'))
        return;
    do {
        text();
        if (!take(':'))
            return fail(kNoColon, kCheckJson);
        skip();
    } while (goesOn('}'));
    --m_depth;
}

void JsonCursor::skip()
{
    if (m_error)
        return;
    const char byte = next();
    if (byte == '[')
        list([&] { skip(); });
    else if (byte == '{')
        skipObject();
    else if (byte == '"')
        text();
    else if ((byte == 't' && word("true")) || (byte == 'f' && word("false")) || (byte == 'n' && word("null")))
        return;
    else if (byte == '-' || (byte >= '0' && byte <= '9'))
        number();
    else if (!word("NaN") && !word("Infinity")) // as Python writes them
        fail("a value is expected here", kCheckJson);
}

void JsonCursor::end()
{
    blanks();
    if (!m_error && m_at < m_text.size())
        fail("the document goes on after its end", kCheckJson);
}

} // namespace shardboard
