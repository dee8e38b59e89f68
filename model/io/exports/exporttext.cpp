// SPDX-License-Identifier: Apache-2.0
#include "model/io/exports/exporttext.h"

#include <span>
#include <utility>

namespace shardboard {

/// Made from resources/exports.
std::span<const std::pair<std::string_view, std::string_view>> exportTexts();

std::string_view exportText(std::string_view name)
{
    for (const auto& [known, content] : exportTexts())
        if (known == name)
            return content;
    return {};
}

} // namespace shardboard
