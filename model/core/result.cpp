// SPDX-License-Identifier: Apache-2.0
#include "model/core/result.h"

#include "model/core/visibletext.h"

namespace shardboard {

namespace {
/// Text from a hostile file may hold anything; a message stays one line and short. Line ends of what others say become blanks.
std::string oneLine(std::string text)
{
    constexpr std::size_t kLongest = 400;
    for (char& c : text)
        if (c == '\n' || c == '\r' || c == '\t')
            c = ' ';
    return shortened(visibleText(text), kLongest);
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
