// SPDX-License-Identifier: Apache-2.0
// The solver: the best feasible assignment of a problem that is found in the time given, and a lower bound with its proof.
#pragma once

#include "model/solver/evaluate.h"
#include "model/solver/proof.h"

#include <atomic>
#include <chrono>
#include <functional>

namespace shardboard::solver {

struct Progress {
    double seconds = 0; ///< since the solver began
    double cost = 0; ///< of the best assignment so far
    double bound = 0; ///< as the search sees it; the proof comes later
};

struct Options {
    using Clock = std::chrono::steady_clock;
    Clock::time_point deadline = Clock::now() + std::chrono::seconds(60);
    int threads = 2;
    std::uint64_t seed = 1;
    bool enumerate = true; ///< small problems by looking at all assignments
    std::function<void(const Progress&)> progress; ///< about twice a second, from one thread
    const std::atomic<bool>* cancelled = nullptr; ///< set: the best so far is returned
};

struct Solution {
    /// Set where no assignment keeps the limit, with the worst time; the rest is empty then.
    std::optional<Excess> infeasible;
    Assignment assignment;
    Wide cost = 0;
    Wide bound = 0; ///< no feasible assignment costs less
    bool optimal = false; ///< cost and bound are equal
    /// What makes the bound certain. Without one the least of every cost was added up, or (enumerated) all assignments were looked
    /// at.
    std::optional<Proof> proof;
    bool enumerated = false;
    double boundSeconds = 0; ///< until the bound was there
    double seconds = 0;
};

Solution solve(const Problem& problem, const Options& options);

} // namespace shardboard::solver
