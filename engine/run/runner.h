// SPDX-License-Identifier: Apache-2.0
// Runs a program: operation by operation, layer by layer, on the logical devices of its mesh, and with `verify` beside it
// the same operations unsharded. Weights exist only while the operation that reads them runs.
#pragma once

#include "engine/run/schedule/runrequest.h"

#include <functional>

namespace shardboard::engine {

class Executor;

/// With a team every process calls it, and what it returns in other processes than the first tells nothing but whether it went
/// well. Never throws. The result depends on the program, the options and the kind of executor alone, not on the number of threads.
RunOutcome runProgram(const RunRequest& request, Executor& executor);

/// What `work` returns, or, where it throws, the failure in place of it.
RunOutcome outcomeOf(const std::function<RunOutcome()>& work);

} // namespace shardboard::engine
