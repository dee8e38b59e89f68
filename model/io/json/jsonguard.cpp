// SPDX-License-Identifier: Apache-2.0
#include "model/io/json/jsonguard.h"

#include <string_view>

namespace shardboard {

namespace {

constexpr std::size_t kCutBytes = std::size_t { 1 } << 16;

bool isBlank(int byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

} // namespace

JsonGuard::JsonGuard(const JsonSource& source, const JsonLimits& limits, bool cutLongTexts)
    : m_source(source)
    , m_limits(limits)
    , m_cutLongTexts(cutLongTexts)
{
}

std::string JsonGuard::place() const
{
    return m_problem.empty() ? std::to_string(m_lineBefore) + ":" + std::to_string(m_columnBefore)
                             : std::to_string(m_line) + ":" + std::to_string(m_column);
}

int JsonGuard::peekByte()
{
    if (m_used == m_filled) {
        m_filled = m_source(m_buffer.data(), m_buffer.size());
        m_used = 0;
        if (m_filled == 0)
            return -1;
    }
    return static_cast<unsigned char>(m_buffer[m_used]);
}

int JsonGuard::rawByte()
{
    const int byte = peekByte();
    if (byte < 0)
        return -1;
    ++m_used;
    if (byte == '\n') {
        ++m_line;
        m_column = 0;
    } else {
        ++m_column;
    }
    return byte;
}

int JsonGuard::fail(std::string problem)
{
    m_problem = std::move(problem);
    return -1;
}

int JsonGuard::next()
{
    if (!m_problem.empty())
        return -1;
    m_lineBefore = m_line;
    m_columnBefore = m_column;
    if (!m_pending.empty()) {
        const char byte = m_pending.front();
        m_pending.erase(0, 1);
        return byte;
    }
    const int byte = rawByte();
    if (byte < 0)
        return -1;
    return m_inText ? inside(byte) : outside(byte);
}

int JsonGuard::outside(int byte)
{
    if (isBlank(byte)) { // a run of blanks is handed out as one, because the reader would keep them all
        while (m_blank && isBlank(byte))
            byte = rawByte();
        if (byte < 0)
            return -1;
        if (isBlank(byte)) {
            m_blank = true;
            m_tokenBytes = 0;
            return byte;
        }
    }
    m_blank = false;
    if (byte == 0)
        return fail("not valid JSON: a zero byte between values");
    if (byte == '{' || byte == '[') {
        if (++m_depth > m_limits.depth)
            return fail("nested deeper than " + std::to_string(m_limits.depth) + " levels");
    } else if (byte == '}' || byte == ']') {
        --m_depth;
    } else if (byte == '"') {
        m_inText = true;
    } else if (byte != ',' && byte != ':') {
        if (m_limits.pythonNumbers && (byte == 'N' || byte == 'I' || byte == '-') && m_tokenBytes == 0)
            return pythonNumber(byte);
        if (++m_tokenBytes > m_limits.token)
            return fail("a value longer than " + std::to_string(m_limits.token) + " bytes");
        return byte;
    }
    m_tokenBytes = 0;
    return byte;
}

/// NaN, Infinity and -Infinity become null; a minus before digits stays what it is.
int JsonGuard::pythonNumber(int byte)
{
    ++m_tokenBytes;
    if (byte == '-') {
        if (peekByte() != 'I')
            return byte;
        byte = rawByte();
    }
    for (const char expected : std::string_view(byte == 'N' ? "aN" : "nfinity"))
        if (rawByte() != expected)
            return fail("not valid JSON: an unknown word");
    m_pending = "ull";
    return 'n';
}

int JsonGuard::inside(int byte)
{
    const bool betweenCharacters = m_escapeLeft == 0 && byte != '\\' && (byte & 0xC0) != 0x80;
    if (m_cutLongTexts && m_tokenBytes >= kCutBytes && betweenCharacters && byte != '"') {
        if (!skipRestOfText())
            return -1;
        byte = '"';
    }
    if (m_escapeLeft > 0) {
        m_escapeLeft = m_escapeBegan && byte == 'u' ? 4 : m_escapeLeft - 1;
        m_escapeBegan = false;
    } else if (byte == '\\') {
        m_escapeLeft = 1;
        m_escapeBegan = true;
    } else if (byte == '"') {
        m_inText = false;
        m_tokenBytes = 0;
        return byte;
    }
    if (++m_tokenBytes > m_limits.token)
        return fail("a string longer than " + std::to_string(m_limits.token) + " bytes");
    return byte;
}

/// Up to the closing quote; false at the end of the source.
bool JsonGuard::skipRestOfText()
{
    for (int byte = rawByte(); byte >= 0; byte = rawByte()) {
        if (byte == '"')
            return true;
        if (byte == '\\' && rawByte() < 0)
            return false;
    }
    return false;
}

} // namespace shardboard
