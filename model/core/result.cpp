// SPDX-License-Identifier: Apache-2.0
#include "model/core/result.h"

#include "model/text/visibletext.h"

namespace shardboard {

namespace {
/// Text from a hostile file may hold anything; a message stays one line and short. Line ends of what others say become blanks.
std::string oneLine(std::string text)
{
    constexpr std::size_t kLongest = 400;
    for (char& c : text)
        if (c == '\n' || c == '\r' || c == '\t')
            c = ' ';
    std::string shown = visibleText(text);
    if (shown.size() <= kLongest)
        return shown;
    // Left out in the middle: a long name is followed by what is wrong with it, a long path by the place.
    std::size_t end = shown.size() - kLongest / 2;
    while (end < shown.size() && (static_cast<unsigned char>(shown[end]) & 0xc0U) == 0x80U)
        ++end;
    return shortened(shown, kLongest / 2) + shown.substr(end);
}
} // namespace

std::string Error::text() const
{
    std::string out;
    if (!where.empty())
        out += oneLine(where) + ": ";
    out += oneLine(what);
    if (!fix.empty())
        out += "; " + oneLine(fix);
    return out;
}

Error inputError(std::string where, std::string what, std::string fix)
{
    return Error { ErrorCode::Input, std::move(where), std::move(what), std::move(fix) };
}

Error usageError(std::string where, std::string what, std::string fix)
{
    return Error { ErrorCode::Usage, std::move(where), std::move(what), std::move(fix) };
}

} // namespace shardboard
