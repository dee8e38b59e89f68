// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/visibleoutput.h"

#include "model/text/numbers.h"

#include "model/text/visibletext.h"

#include <algorithm>
#include <cstdarg>
#include <iostream>

namespace shardboard {

namespace {
constexpr std::size_t kPiece = std::size_t { 1 } << 16; ///< that are looked at together
}

VisibleOutput::VisibleOutput(std::ostream& stream)
    : m_stream(stream)
    , m_behind(stream.rdbuf(this))
{
}

VisibleOutput::~VisibleOutput()
{
    pass(m_waiting);
    m_stream.rdbuf(m_behind);
}

VisibleOutput::int_type VisibleOutput::overflow(int_type byte)
{
    if (traits_type::eq_int_type(byte, traits_type::eof()))
        return traits_type::not_eof(byte);
    const char one = traits_type::to_char_type(byte);
    return xsputn(&one, 1) == 1 ? byte : traits_type::eof();
}

std::streamsize VisibleOutput::xsputn(const char* text, std::streamsize count)
{
    const auto size = static_cast<std::size_t>(count);
    if (m_waiting.size() + size > kPiece) {
        const bool passed = pass(m_waiting);
        m_waiting.clear();
        if (!passed)
            return 0;
    }
    if (size > kPiece)
        return pass({ text, size }) ? count : 0;
    m_waiting.append(text, size);
    return count;
}

int VisibleOutput::sync()
{
    const bool passed = pass(m_waiting);
    m_waiting.clear();
    return passed && m_behind->pubsync() == 0 ? 0 : -1;
}

bool VisibleOutput::pass(std::string_view text)
{
    while (!text.empty()) {
        std::size_t end = std::min(text.size(), kPiece);
        while (end < text.size() && end + 4 > kPiece && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U)
            --end; // not inside a character
        const std::string shown = visibleLines(text.substr(0, end));
        const auto size = static_cast<std::streamsize>(shown.size());
        if (m_behind->sputn(shown.data(), size) != size)
            return false;
        text.remove_prefix(end);
    }
    return true;
}

void print(const char* format, ...)
{
    std::va_list arguments;
    va_start(arguments, format);
    std::cout << formattedList(format, arguments);
    va_end(arguments);
}

} // namespace shardboard
