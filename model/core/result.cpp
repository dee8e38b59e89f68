// SPDX-License-Identifier: Apache-2.0
#include "model/core/result.h"

namespace shardboard {

namespace {
/// Text from a hostile file may hold control characters; a message stays one line and short.
std::string oneLine(const std::string& text)
{
    constexpr std::size_t kLongest = 400;
    std::string out;
    for (const char c : text) {
        if (out.size() >= kLongest) {
            out += "...";
            break;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += (byte < 0x20 || byte == 0x7f) ? ' ' : c;
    }
    return out;
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
