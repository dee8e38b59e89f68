// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace shardboard {

/// Whether one of the values of a list equals `value`.
template <class List, class T>
bool contains(const List& list, const T& value)
{
    return std::find(std::begin(list), std::end(list), value) != std::end(list);
}
inline bool contains(std::initializer_list<std::string_view> list, std::string_view value)
{
    return std::find(list.begin(), list.end(), value) != list.end();
}

} // namespace shardboard
