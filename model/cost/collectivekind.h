// SPDX-License-Identifier: Apache-2.0
// The kinds of collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

enum class CollectiveKind : std::uint8_t { AllReduce, AllGather, ReduceScatter, AllToAll, SendRecv, Broadcast, LocalSlice };
inline constexpr std::size_t kCollectiveKinds = 7;
std::string collectiveName(CollectiveKind kind); ///< all-reduce, all-gather, …, local-slice
std::optional<CollectiveKind> collectiveFromName(std::string_view name);

} // namespace shardboard
