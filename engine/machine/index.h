// SPDX-License-Identifier: Apache-2.0
// Sizes and positions are signed in the engine; containers count without a sign.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardboard::engine {

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

} // namespace shardboard::engine
