// SPDX-License-Identifier: Apache-2.0
// Runs a program: operation by operation, layer by layer, on the logical devices of its mesh, and with `verify` beside it
// the same operations unsharded. Weights exist only while the operation that reads them runs.
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

struct Sample {
    std::string operation;
    std::string kind;
    std::int64_t device = 0; ///< the id of the one with most to do
    double start = 0; ///< seconds since the run began
    double seconds = 0; ///< as in RunOperation
    std::int64_t bytes = 0;
};

class Sharded;

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

/// A program and how it is to be run.
struct RunRequest {
    const Program& program; ///< outlives the run, as the options do
    const RunOptions& options;
    RunHooks hooks = {};
    RunLimits limits = {};
};

/// The result, or why there is none (code `cancelled` when it was).
using RunOutcome = std::variant<RunResult, Failure>;

/// Relative errors up to these pass.
inline constexpr double kToleranceF32 = 1e-5;
inline constexpr double kToleranceRounded =
    3e-2; ///< of a few layers, attention's probabilities rounded, too, as tensor cores take them
/// Gradients are differences (probability times the distance from a mean, a norm's part along x), so that the errors of what
/// they are made of count for more.
inline constexpr double kToleranceGradient = 1e-4;
inline constexpr double kToleranceRoundedGradient = 1e-1;
double toleranceOf(Phase phase, bool rounded);

/// On the CPU, whatever else the build has (engine/run/backend.h). Never throws. The result depends on the program and the options
/// alone, not on the number of threads.
RunOutcome runProgram(const RunRequest& request);

class Team;
/// The same by several processes, each of which calls this and does its part on its CPU. limits.workers must be the same for
/// all, hooks be set in the first one only (`cancel` in all). What it returns elsewhere tells nothing but whether it went well.
RunOutcome runProgramOn(Team& team, const RunRequest& request);

class Executor;
/// The same with all work done by an executor in its memory.
RunOutcome runProgramOn(Executor& executor, const RunRequest& request);
/// The same by several processes, each of which calls this with an executor that knows the others and does the work of its own
/// ranks. Hooks as for several processes on their CPUs.
RunOutcome runProgramOn(Executor& executor, Team& team, const RunRequest& request);

} // namespace shardboard::engine
