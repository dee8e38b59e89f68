// SPDX-License-Identifier: Apache-2.0
// Runs a plan in a worker process, for programs without an event loop.
#pragma once

#include "model/io/wire/messages.h"
#include "model/plan/plan.h"

#include <atomic>
#include <functional>
#include <string>

namespace shardboard {

/// What happens on the way; any may be empty.
struct RunReports {
    std::function<void(const std::string& what)> waiting; ///< in a queue, before the worker starts
    std::function<void(std::int64_t bytes, double seconds)> announce;
    std::function<void(std::int64_t step, std::int64_t of, const std::string& what)> progress;
    std::function<void(RunProfile)> profile; ///< once, when the options ask for one
};

/// Starts a worker (`engine` as for askWorker()), runs, ends the worker. Cancelled when `cancel` was set meanwhile. Errors have the
/// code Engine and name what the worker said, or how it ended.
Result<RunResult> runInWorker(const Graph& graph, const Plan& plan, const RunOptions& options, const std::string& engine,
                              const RunReports& reports, const std::atomic<bool>& cancel);

} // namespace shardboard
