// SPDX-License-Identifier: Apache-2.0
#include "model/text/visibletext.h"

#include <algorithm>
#include <cstdint>

namespace shardboard {

namespace {

/// One character of UTF-8, or one byte that is none.
struct Character {
    std::size_t bytes = 1;
    std::uint32_t code = 0;
    bool valid = false;
};

/// The first character of a text that is not empty (The Unicode Standard, table 3-7).
Character firstCharacter(std::string_view text)
{
    const auto byteAt = [&](std::size_t index) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[index])); };
    const std::uint32_t lead = byteAt(0);
    if (lead < 0x80)
        return { 1, lead, true };
    const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes)
        return { 1, lead, false };
    std::uint32_t code = lead & (0xffU >> (bytes + 1));
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byteAt(i) & 0xc0U) != 0x80U)
            return { 1, lead, false };
        code = code << 6 | (byteAt(i) & 0x3fU);
    }
    const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
    if (overlong || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return { 1, lead, false };
    return { bytes, code, true };
}

/// Obeyed rather than shown: C0, DEL, C1, ends of lines and paragraphs, what turns the direction of writing, the byte
/// order mark.
bool isControl(std::uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f
        || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

/// \xff or \u202e, by the digits.
std::string hexadecimal(std::uint32_t code, bool wide)
{
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out = wide ? "\\u" : "\\x";
    for (int shift = wide ? 12 : 4; shift >= 0; shift -= 4)
        out += kDigits[code >> shift & 0xfU];
    return out;
}

std::string escaped(std::uint32_t code, bool character)
{
    if (code == '\n')
        return "\\n";
    if (code == '\r')
        return "\\r";
    if (code == '\t')
        return "\\t";
    return hexadecimal(code, character && code >= 0x80);
}

/// Nothing of which visibleText changes: found out without looking at single characters.
bool isPlain(std::string_view text)
{
    return std::all_of(text.begin(), text.end(), [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\n'; });
}

std::string visible(std::string_view text, bool keepLines)
{
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const Character next = firstCharacter(text);
        const bool shown = next.valid && (!isControl(next.code) || (keepLines && next.code == '\n'));
        if (shown)
            out += text.substr(0, next.bytes);
        else
            out += escaped(next.code, next.valid);
        text.remove_prefix(next.bytes);
    }
    return out;
}

} // namespace

std::string visibleText(std::string_view text) { return visible(text, false); }

std::string visibleLines(std::string_view text) { return isPlain(text) ? std::string(text) : visible(text, true); }

std::string visibleJson(std::string document)
{
    if (isPlain(document))
        return document;
    std::string out;
    out.reserve(document.size());
    for (std::string_view rest = document; !rest.empty();) {
        const Character next = firstCharacter(rest);
        if (isControl(next.code) && next.code >= 0x7f) // the others are white space here
            out += hexadecimal(next.code, true);
        else
            out += rest.substr(0, next.bytes);
        rest.remove_prefix(next.bytes);
    }
    return out;
}

std::string shortened(std::string_view text, std::size_t bytes)
{
    if (text.size() <= bytes)
        return std::string(text);
    std::size_t end = bytes;
    for (int back = 0; back < 3 && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U; ++back)
        --end;
    return std::string(text.substr(0, end)) + "...";
}

bool isUtf8(std::string_view text)
{
    while (!text.empty()) {
        const Character next = firstCharacter(text);
        if (!next.valid)
            return false;
        text.remove_prefix(next.bytes);
    }
    return true;
}

std::optional<std::string> nameProblem(std::string_view name)
{
    for (std::size_t at = 0; at < name.size();) {
        const Character next = firstCharacter(name.substr(at));
        if (!next.valid || isControl(next.code))
            return (next.valid ? "has the control character " : "is not UTF-8: byte ") + escaped(next.code, next.valid)
                + (next.valid ? " at byte " : " at ") + std::to_string(at);
        at += next.bytes;
    }
    return std::nullopt;
}

} // namespace shardboard
