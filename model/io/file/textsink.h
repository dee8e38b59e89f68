// SPDX-License-Identifier: Apache-2.0
// A text that is made piece by piece, because all of it at once may be too much.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace shardboard {

/// Takes the next piece; false: no more is wanted.
using TextSink = std::function<bool(std::string_view piece)>;
/// Gives all pieces in order to a sink; false when it wanted no more.
using TextSource = std::function<bool(const TextSink& sink)>;

inline TextSource textSource(std::string text)
{
    return [text = std::move(text)](const TextSink& sink) { return sink(text); };
}

/// All of it.
inline std::string textOf(const TextSource& source)
{
    std::string out;
    source([&](std::string_view piece) {
        out += piece;
        return true;
    });
    return out;
}

} // namespace shardboard
