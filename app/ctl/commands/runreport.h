// SPDX-License-Identifier: Apache-2.0
// Runs a plan in a worker process and reports on the terminal.
#pragma once

#include "model/io/wire/messages.h"
#include "model/plan/plan.h"

#include <functional>
#include <string>

namespace shardboard {

struct RunCommand {
    RunOptions options;
    DType dtype = DType::BF16; ///< of the design
    bool json = false; ///< the `run` document on stdout instead of a table
    std::string profilePath; ///< where to write the profile; empty: nowhere
    std::string tracePath; ///< where to write the trace
    std::string projectTo; ///< hardware whose communication is put in the place of what was measured; the plan is made for it
    /// What becomes a kept run; nothing: it is not kept.
    std::function<Status(const RunResult&, const RunProfile&)> keep;
    std::string engine; ///< command that starts the worker; empty: the one beside this program
};

/// Runs it in a worker, for a terminal: progress on stderr, the result on stdout, Ctrl-C cancels. Returns the exit code: 0 done, 1
/// the verification failed, 4 the engine failed, 5 cancelled.
int executeRun(const Graph& graph, const Plan& plan, const RunCommand& command);

} // namespace shardboard
