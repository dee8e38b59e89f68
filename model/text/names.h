// SPDX-License-Identifier: Apache-2.0
// Names of the values of an enumeration, as a list in their order.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace shardboard {

template <class Enumeration, std::size_t Count>
constexpr const char* nameIn(const std::array<const char*, Count>& names, Enumeration value)
{
    return names.at(static_cast<std::size_t>(value));
}

/// The value of that name, if there is one.
template <class Enumeration, std::size_t Count>
std::optional<Enumeration> namedIn(const std::array<const char*, Count>& names, std::string_view name)
{
    for (std::size_t i = 0; i < Count; ++i)
        if (name == names[i])
            return static_cast<Enumeration>(i);
    return std::nullopt;
}

} // namespace shardboard
