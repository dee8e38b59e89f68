// SPDX-License-Identifier: Apache-2.0
// What is asked of a run: the program, how it goes through it, and who is told.
#pragma once

#include "engine/machine/failure.h"
#include "model/io/wire/messages.h"
#include "model/plan/program.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace shardboard::engine {

class Sharded;
class Team;

struct Sample {
    std::string operation;
    std::string kind;
    std::int64_t device = 0; ///< the id of the one with most to do
    double start = 0; ///< seconds since the run began
    double seconds = 0; ///< as in RunOperation
    std::int64_t bytes = 0;
};

/// What an operation left on the devices. `unsharded` is that of the reference, null without verification.
struct SeenValue {
    std::string tensor; ///< its name, with the number of the layer
    std::int64_t microBatch = 0;
    const Sharded& value;
    const Sharded* unsharded = nullptr;
};

/// Called on the thread that calls runProgram; any may be empty.
struct RunHooks {
    /// Before `announce`, where several processes run the program: what each of them needs, in bytes.
    std::function<void(const std::vector<std::int64_t>& bytes)> announceByProcess;
    std::function<void(std::int64_t bytes, double seconds)> announce; ///< before anything large is touched
    std::function<void(std::int64_t step, std::int64_t of, const std::string& what)> progress; ///< after each operation
    std::function<void(const Sample&)> sample; ///< each operation and collective of each layer
    const std::atomic<bool>* cancel = nullptr; ///< ends the run soon after it is set
    std::function<void(const RunProfile&)> profile; ///< before the result, when the options ask for it
    std::function<void(const SeenValue&)> value; ///< each result of an operation, for whoever wants to look at the numbers
};

struct RunLimits {
    int workers = 0; ///< threads; 0: one for each core
    std::int64_t availableBytes = 0; ///< 0: what the machine has left
    bool poison = false; ///< all memory holds NaN when it is handed out, so that what is not written shows
};

/// A program and how it is to be run. All that it refers to outlives the run.
struct RunRequest {
    const Program& program;
    const RunOptions& options;
    RunHooks hooks = {};
    RunLimits limits = {};
    /// The processes that run the program together, each of which does the part of its ranks: limits.workers is the same for all,
    /// hooks are set in the first one only (`cancel` in all). Null: this process alone.
    Team* team = nullptr;

    /// The same by several processes.
    RunRequest by(Team& processes) const
    {
        RunRequest out = *this;
        out.team = &processes;
        return out;
    }

    bool profiled() const { return options.profile != ProfileMode::None; }
    /// A profiled run goes through one step that is not timed: the libraries make their kernels then. It is also the one that is
    /// verified, so that the timed steps find the caches as they left them.
    std::int64_t warmUps() const { return profiled() ? 1 : 0; }
    std::int64_t steps() const { return options.steps + warmUps(); }
};

/// The result, or why there is none (code `cancelled` when it was).
using RunOutcome = std::variant<RunResult, Failure>;

} // namespace shardboard::engine
