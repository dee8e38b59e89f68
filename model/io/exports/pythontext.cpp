// SPDX-License-Identifier: Apache-2.0
#include "model/io/exports/pythontext.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>

namespace shardboard {

namespace {

struct Character {
    std::uint32_t code = 0;
    std::size_t bytes = 1;
};

/// The character at the front. A byte that begins none is told as Python does it: 0xdc00 and the byte.
Character firstCharacter(std::string_view text)
{
    const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const std::uint32_t first = at(0);
    const Character bad { 0xdc00 + first, 1 };
    const std::size_t bytes = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (bytes == 1)
        return { first, 1 };
    if (bytes == 0)
        return bad;
    std::uint32_t code = first & (0x7fU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((at(i) & 0xc0U) != 0x80U)
            return bad;
        code = code << 6U | (at(i) & 0x3fU);
    }
    constexpr std::array<std::uint32_t, 5> kSmallest { 0, 0, 0x80, 0x800, 0x10000 }; // that needs so many bytes
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    return code < kSmallest[bytes] || code > 0x10ffff || surrogate ? bad : Character { code, bytes };
}

std::string escaped(std::uint32_t code)
{
    if (code == '\n')
        return "\\n";
    std::array<char, 16> text {};
    const char* form = code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x";
    std::snprintf(text.data(), text.size(), form, static_cast<unsigned>(code));
    return text.data();
}

} // namespace

std::string pythonLiteral(std::string_view text)
{
    std::string out = "\"";
    while (!text.empty()) {
        const auto [code, bytes] = firstCharacter(text);
        if (code == '"' || code == '\\')
            out += '\\';
        out += code >= 0x20 && code < 0x7f ? std::string(1, static_cast<char>(code)) : escaped(code);
        text.remove_prefix(bytes);
    }
    return out + '"';
}

std::string decimalDigits(double number)
{
    std::array<char, 512> text {};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    return { text.data(), end.ptr };
}

} // namespace shardboard
