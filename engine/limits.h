// SPDX-License-Identifier: Apache-2.0
// The fastest that this machine multiplies matrices and copies memory, measured in the session whose times are held against it.
#pragma once

#include "engine/taskpool.h"
#include "model/protocol/profile.h"

#include <cstdint>

namespace shardboard::engine {

/// Memory that measureLimits touches, and gives back.
std::int64_t limitsMemory(int workers);

/// About half a second. Copies 4 times what the last cache holds, past the caches; products of 512 x 512 and
/// 1024 x 1024 matrices, the better of both. On the clock of the threads, as the operations' seconds are. Throws Stopped and Failure "memory".
MachineLimits measureLimits(TaskPool& pool);

/// Copies `count` floats with stores that go past the caches.
void copyPastCaches(const float* from, std::int64_t count, float* to);

} // namespace shardboard::engine
