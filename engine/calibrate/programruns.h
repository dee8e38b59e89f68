// SPDX-License-Identifier: Apache-2.0
// Small programs that a calibration runs beside what it measures alone: what operations and collectives take beside others, and on
// what those left in the caches.
#pragma once

#include "engine/run/backend.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace shardboard::engine {

class Executor;

class ProgramRuns {
public:
    /// Walks through the programs without computing anything. Those that need more memory than there is are left out: what the
    /// others tell counts all the same. Throws Failure "bad-plan" for one that cannot be run.
    ProgramRuns(std::vector<Program> programs, Executor& executor, int workers, bool quick);

    std::int64_t count() const { return m_rounds * static_cast<std::int64_t>(m_programs.size()); } ///< of runs
    std::int64_t neededBytes() const { return m_neededBytes; } ///< of the largest one
    double seconds() const { return m_seconds; } ///< of all runs, about

    /// Runs them, all in turn and then again, so that a machine that is slow for a while does not count alone. A point has the
    /// median over the rounds of the medians over the steps: in the first step memory is touched for the first time. Throws Failure
    /// and Stopped. `progress` is called before each run with how many were before it.
    void addTo(Calibration& out, const std::function<void(std::int64_t runs)>& progress, const std::atomic<bool>* cancel) const;

private:
    std::vector<Program> m_programs;
    Executor* m_executor;
    int m_workers;
    RunOptions m_options;
    std::int64_t m_rounds;
    std::int64_t m_neededBytes = 0;
    double m_seconds = 0;
};

} // namespace shardboard::engine
