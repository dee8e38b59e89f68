// SPDX-License-Identifier: Apache-2.0
// One request to a worker, from its start to its answer, for programs without an event loop.
#pragma once

#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <atomic>
#include <functional>
#include <string>

namespace shardboard {

/// Starts a worker (`engine` as for WorkerProcess::start), waits for its hello, sends the request with an id of its own, hands
/// every message on the way to `onMessage` (which may be empty; of type `waiting` while the job waits in a queue) and returns the
/// one of type `result`. The worker is ended then. Cancelled when `cancel` was set meanwhile: the worker is told, and ended after
/// five seconds if it goes on. Errors have the code Engine and name what the worker said, or how it ended.
Result<nlohmann::json> askWorker(const std::string& engine, nlohmann::json request,
                                 const std::function<void(const nlohmann::json&)>& onMessage, const std::atomic<bool>& cancel);

Error engineError(const std::string& what, const std::string& where = "engine", const std::string& fix = {});

} // namespace shardboard
