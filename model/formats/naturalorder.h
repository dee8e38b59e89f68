// SPDX-License-Identifier: Apache-2.0
// Orders names as people count: `layers.2` before `layers.10`.
#pragma once

#include <string_view>

namespace shardboard {

inline bool naturalLess(std::string_view a, std::string_view b)
{
    const auto digits = [](std::string_view text, std::size_t from) {
        std::size_t end = from;
        while (end < text.size() && text[end] >= '0' && text[end] <= '9')
            ++end;
        return text.substr(from, end - from);
    };
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
        std::string_view x = digits(a, i);
        std::string_view y = digits(b, j);
        if (x.empty() || y.empty()) {
            if (a[i] != b[j])
                return a[i] < b[j];
            ++i;
            ++j;
            continue;
        }
        i += x.size();
        j += y.size();
        x.remove_prefix(x.find_first_not_of('0') == x.npos ? x.size() : x.find_first_not_of('0'));
        y.remove_prefix(y.find_first_not_of('0') == y.npos ? y.size() : y.find_first_not_of('0'));
        if (x != y)
            return x.size() != y.size() ? x.size() < y.size() : x < y;
    }
    return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

} // namespace shardboard
