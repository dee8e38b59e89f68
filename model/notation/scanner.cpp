// SPDX-License-Identifier: Apache-2.0
#include "model/notation/scanner.h"

#include "model/text/text.h"

#include <algorithm>
#include <cctype>

namespace shardboard {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWordCharacter(char c) { return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

} // namespace

Scanner::Scanner(std::string_view text, std::string where, std::string form)
    : m_text(text)
    , m_where(std::move(where))
    , m_form(std::move(form))
{
}

void Scanner::skipBlanks()
{
    const auto next = m_text.find_first_not_of(" \t\r\n", m_at);
    m_at = next == std::string_view::npos ? m_text.size() : next;
}

bool Scanner::atEnd()
{
    skipBlanks();
    return m_at == m_text.size();
}

char Scanner::peek() { return atEnd() ? '\0' : m_text[m_at]; }

bool Scanner::take(std::string_view token)
{
    skipBlanks();
    if (!m_text.substr(m_at).starts_with(token))
        return false;
    m_at += token.size();
    return true;
}

std::string_view Scanner::word()
{
    skipBlanks();
    const auto end = std::find_if_not(m_text.begin() + static_cast<std::ptrdiff_t>(m_at), m_text.end(), isWordCharacter);
    const std::string_view out = m_text.substr(m_at, static_cast<std::size_t>(end - m_text.begin()) - m_at);
    m_at += out.size();
    return out;
}

bool Scanner::takeWord(std::string_view expected)
{
    const std::size_t before = m_at;
    if (word() == expected)
        return true;
    m_at = before;
    return false;
}

std::optional<std::string_view> Scanner::quoted()
{
    const char quote = peek();
    if (quote != '\'' && quote != '"')
        return std::nullopt;
    const auto end = m_text.find(quote, m_at + 1);
    if (end == std::string_view::npos)
        return std::nullopt;
    const std::string_view out = m_text.substr(m_at + 1, end - m_at - 1);
    m_at = end + 1;
    return out;
}

std::optional<std::int64_t> Scanner::integer()
{
    skipBlanks();
    std::size_t end = m_at;
    if (end < m_text.size() && m_text[end] == '-')
        ++end;
    while (end < m_text.size() && isDigit(m_text[end]))
        ++end;
    const auto value = parseInteger(m_text.substr(m_at, end - m_at));
    if (value)
        m_at = end;
    return value;
}

Error Scanner::fail(const std::string& what) const
{
    constexpr std::size_t kAround = 60; // a tile assignment can have a million numbers
    const std::size_t from = m_text.size() <= 2 * kAround ? 0 : m_at - std::min(m_at, kAround);
    std::string shown(m_text.substr(from, 2 * kAround));
    if (from > 0)
        shown.insert(0, "...");
    if (from + 2 * kAround < m_text.size())
        shown += "...";
    return inputError(m_where, what + " (at character " + std::to_string(m_at + 1) + " of " + shown + ")", m_form);
}

} // namespace shardboard
