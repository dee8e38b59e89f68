// SPDX-License-Identifier: Apache-2.0
// Nodes and strategies are ints, lists are asked by size_t.
#pragma once

#include <cstddef>

namespace shardboard::solver {

inline std::size_t at(int index) { return static_cast<std::size_t>(index); }

} // namespace shardboard::solver
