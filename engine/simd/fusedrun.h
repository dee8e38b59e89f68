// SPDX-License-Identifier: Apache-2.0
// The inner loop of every collective in shared memory: reads a run of each source once, combines in registers, writes the
// result to each target once. What is written past the caches costs no read of the line that it goes to.
#pragma once

#include <cstdint>

namespace shardboard::engine {

enum class FusedSum { Add, Max };

struct FusedRun {
    const float* const* from = nullptr;
    std::int64_t sources = 1; ///< combined in this order: the first, then each next one
    float* const* to = nullptr;
    std::int64_t targets = 1;
    std::int64_t count = 0; ///< floats
    FusedSum sum = FusedSum::Add;
    bool pastCaches = false; ///< for what is too large for them; finishRuns() before anybody else reads
};

/// A target may be a source, if it starts at the same element and nothing else of it is shared. The result does not depend
/// on the instruction set, on alignment, or on how a range is cut into runs.
void fusedRun(const FusedRun& run);
/// Waits until everything that the thread has written past the caches can be seen.
void finishRuns();

/// One source, one target.
void copyRun(const float* from, std::int64_t count, float* to, bool pastCaches);

} // namespace shardboard::engine
