// SPDX-License-Identifier: Apache-2.0
// The fastest that this machine multiplies matrices and copies memory, measured in the session whose times are held against it.
#pragma once

#include "engine/machine/taskpool.h"
#include "model/io/wire/profile.h"

#include <cstdint>
#include <functional>

namespace shardboard::engine {

/// Memory that measureLimits touches, and gives back.
std::int64_t limitsMemory(int workers);

/// Of a process outside its arena, at most: the program, the plan, packing buffers of the matrix products.
std::int64_t processMemory(int workers);

/// About half a second. Copies 4 times what the last cache holds, past the caches; products of 512 x 512 and
/// 1024 x 1024 matrices, the better of both. On the clock of the threads, as the operations' seconds are. Throws Stopped and
/// Failure "memory".
MachineLimits measureLimits(TaskPool& pool);

/// The memory's own speed beside something that is measured: one copy and one write past the caches by all workers.
class MemoryProbe {
public:
    /// `from` and `to` have room for `floats` each, which is more than the caches hold, and pages.
    MemoryProbe(TaskPool& pool, const float* from, float* to, std::int64_t floats);
    double copyRate(int workers); ///< bytes read and written, by seconds
    double storeRate(int workers); ///< bytes written, by seconds
    double readRate(int workers, int sources); ///< bytes read, by seconds: from so many arrays at once, summed into the first cache
    /// Of the first `floats`, which may stay in the caches.
    double copySeconds(int workers, std::int64_t floats, bool pastCaches) const;

private:
    double secondsOfPieces(int workers, std::int64_t floats,
                           const std::function<void(std::int64_t first, std::int64_t count)>& work) const;
    TaskPool& m_pool;
    const float* m_from;
    float* m_to;
    std::int64_t m_floats;
};
/// Floats of each of a probe's two buffers: more than the last cache holds.
std::int64_t probeFloats();

/// Copies `count` floats with stores that go past the caches.
void copyPastCaches(const float* from, std::int64_t count, float* to);

} // namespace shardboard::engine
