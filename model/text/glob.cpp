// SPDX-License-Identifier: Apache-2.0
#include "model/text/glob.h"

namespace shardboard {

namespace {

/// Matches one character against the pattern element at `at`, which is moved behind the element. A `[` without its `]`
/// stands for itself.
bool matchOne(std::string_view pattern, std::size_t& at, char c)
{
    if (pattern[at] == '?') {
        ++at;
        return true;
    }
    const auto close = pattern[at] == '[' ? pattern.find(']', at + 2) : std::string_view::npos;
    if (close == std::string_view::npos)
        return pattern[at++] == c;
    std::string_view set = pattern.substr(at + 1, close - at - 1);
    at = close + 1;
    const bool negated = set.front() == '!';
    if (negated)
        set.remove_prefix(1);
    bool found = false;
    for (std::size_t i = 0; i < set.size(); ++i) {
        if (i + 2 < set.size() && set[i + 1] == '-') {
            found = found || (set[i] <= c && c <= set[i + 2]);
            i += 2;
        } else {
            found = found || set[i] == c;
        }
    }
    return found != negated;
}

} // namespace

bool globMatch(std::string_view pattern, std::string_view name)
{
    std::size_t p = 0;
    std::size_t n = 0;
    std::size_t starP = std::string_view::npos; // where to go on after the last star, with one more character eaten
    std::size_t starN = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            starP = ++p;
            starN = n;
            continue;
        }
        if (p < pattern.size() && matchOne(pattern, p, name[n])) {
            ++n;
            continue;
        }
        if (starP == std::string_view::npos)
            return false;
        p = starP;
        n = ++starN;
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

} // namespace shardboard
