// SPDX-License-Identifier: Apache-2.0
// Usage lines at the head of generated files.
#pragma once

#include <algorithm>
#include <string>

namespace shardboard {

/// Every line as a comment of Python, YAML or a shell.
inline std::string commented(const std::string& text)
{
    std::string out;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        out += "#   " + text.substr(from, end - from) + "\n";
        from = end + 1;
    }
    return out;
}

} // namespace shardboard
