// SPDX-License-Identifier: Apache-2.0
#include "model/io/file/namepattern.h"

#include <cctype>

namespace shardboard {

std::string withoutNumbers(const std::string& name)
{
    std::string out;
    for (std::size_t i = 0; i < name.size();) {
        const bool starts = std::isdigit(static_cast<unsigned char>(name[i])) != 0 && i > 0 && name[i - 1] == '.';
        std::size_t end = i;
        while (starts && end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])))
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
