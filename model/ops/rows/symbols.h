// SPDX-License-Identifier: Apache-2.0
// Sizes that are names until the program runs (`batch`). In a Shape they are negative numbers, so that shapes stay plain:
// 0 and more is a size, -1 a size that nobody has given (a wildcard), -2 and less the name of that number.
#pragma once

#include "model/core/tensor.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

inline constexpr std::int64_t kWildcard = -1;

inline bool isSymbol(std::int64_t size) { return size < kWildcard; }
inline bool isStatic(std::int64_t size) { return size >= 0; }

class SymbolTable {
public:
    /// The number that stands for a name.
    std::int64_t sizeOf(std::string_view name)
    {
        for (std::size_t i = 0; i < m_names.size(); ++i)
            if (m_names[i] == name)
                return -2 - static_cast<std::int64_t>(i);
        m_names.emplace_back(name);
        return -1 - static_cast<std::int64_t>(m_names.size());
    }
    const std::string& nameOf(std::int64_t symbol) const { return m_names[static_cast<std::size_t>(-2 - symbol)]; }
    /// Whether a size is a sum or product of names, which cannot be cut.
    bool algebraic(std::int64_t size) const { return isSymbol(size) && nameOf(size).find_first_of("+-*/() ") != std::string::npos; }
    /// `4096`, `batch` or `-1`.
    std::string text(std::int64_t size) const { return isSymbol(size) ? nameOf(size) : std::to_string(size); }

private:
    std::vector<std::string> m_names;
};

} // namespace shardboard
