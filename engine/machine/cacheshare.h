// SPDX-License-Identifier: Apache-2.0
// How much of the caches a process really has: up to which size memory is moved faster by ordinary stores than by
// stores that go past the caches. What the system reports is the size of a cache that others use, too, on a virtual
// machine even others whom nobody here sees, so it is measured, once, and kept for this machine in the user's cache
// folder.
#pragma once

#include <cstdint>
#include <functional>

namespace shardboard::engine {

inline constexpr std::int64_t kLeastCacheShare = std::int64_t { 1 } << 20; ///< smaller steps never go past the caches
inline constexpr std::int64_t kMostCacheShare = std::int64_t { 256 } << 20; ///< larger ones always do
inline constexpr std::int64_t kUsualCacheShare = std::int64_t { 16 } << 20; ///< where nobody has asked

/// In bytes that a step reads and writes in all. The first of these that there is: SHARDBOARD_CACHE_BYTES from the
/// environment (a number of bytes), what was kept for this machine, what is measured now (about half a second, up to
/// kMostCacheShare bytes of memory for that long) and then kept. Throws Failure "environment" when the variable is no
/// number.
std::int64_t cacheShareBytes();
/// Measures and keeps it, whatever was kept; the variable wins here, too.
std::int64_t measureCacheShare();

/// The decision. `gain(bytes)` says how many times as fast ordinary stores are. The largest size up to which they are
/// worth it; a size at which they are not is asked about once more, because something else may have disturbed it.
std::int64_t cacheShareFrom(const std::function<double(std::int64_t bytes)>& gain, std::int64_t most);

} // namespace shardboard::engine
