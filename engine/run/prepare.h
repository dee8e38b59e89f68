// SPDX-License-Identifier: Apache-2.0
// What comes before a run takes memory: its program is checked and walked through without computing anything, and what it will
// need is announced.
#pragma once

#include "engine/devices/devicememory.h"
#include "engine/devices/deviceranks.h"
#include "engine/run/schedule/runrequest.h"
#include "engine/run/schedule/schedule.h"

#include <cstdint>
#include <vector>

namespace shardboard::engine {

class Executor;

struct PreparedRun {
    std::vector<SegmentPass> passes; ///< of a step; they point into the program
    int workers = 1; ///< threads of this process
    DeviceRanks deviceRanks;
    std::int64_t arenaBytes = 0; ///< of all ranks
    std::vector<std::int64_t> arenaByRank;
    DeviceMemory devices; ///< the peaks that were announced
};

/// Throws Failure "bad-plan" and "unusable" for a program that cannot be run, "memory" where it needs more than there is, and
/// Stopped.
PreparedRun prepareRun(const RunRequest& request, Executor& executor);

} // namespace shardboard::engine
