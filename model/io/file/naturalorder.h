// SPDX-License-Identifier: Apache-2.0
// Names with numbers in them, as people take them: `layers.2` comes before `layers.10`, and both are of `layers.*`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shardboard {

inline bool naturalLess(std::string_view a, std::string_view b)
{
    const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    const std::size_t shorter = a.size() < b.size() ? a.size() : b.size();
    std::size_t same = 0;
    while (same < shorter && a[same] == b[same])
        ++same;
    while (same > 0 && isDigit(a[same - 1])) // the whole number counts, not the rest of it
        --same;
    const auto number = [&](std::string_view text) { // without leading zeros
        std::size_t end = same;
        while (end < text.size() && isDigit(text[end]))
            ++end;
        std::size_t begin = same;
        while (begin + 1 < end && text[begin] == '0')
            ++begin;
        return text.substr(begin, end - begin);
    };
    const std::string_view x = number(a);
    const std::string_view y = number(b);
    if (x.empty() || y.empty() || x == y)
        return a.substr(same) < b.substr(same);
    return x.size() != y.size() ? x.size() < y.size() : x < y;
}

/// A name with every run of digits that stands alone between dots and slashes replaced by `*`.
inline std::string withoutNumbers(const std::string& name)
{
    const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    std::string out;
    for (std::size_t i = 0; i < name.size();) {
        const bool starts = isDigit(name[i]) && i > 0 && name[i - 1] == '.';
        std::size_t end = i;
        while (starts && end < name.size() && isDigit(name[end]))
            ++end;
        if (starts && (end == name.size() || name[end] == '.' || name[end] == '/')) {
            out += '*';
            i = end;
        } else {
            out += name[i++];
        }
    }
    return out;
}

} // namespace shardboard
