// SPDX-License-Identifier: Apache-2.0
// One request to a worker, from its start to its answer.
#pragma once

#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <atomic>
#include <functional>
#include <string>

namespace shardboard {

/// Starts a worker (`engine` as for WorkerProcess::start), waits for its hello, sends the request with an id of its own, hands
/// every message on the way to `onMessage` (which may be empty) and returns the one of type `result`. The worker is ended then.
/// Cancelled when `cancel` was set meanwhile: the worker is told, and ended after five seconds if it goes on. Errors have the
/// code Engine and name what the worker said, or how it ended.
Result<nlohmann::json> askWorker(const std::string& engine, nlohmann::json request,
                                 const std::function<void(const nlohmann::json&)>& onMessage, const std::atomic<bool>& cancel);

/// Of a message; empty or 0 where it has no such value.
std::string messageText(const nlohmann::json& message, const char* key);
std::int64_t messageWhole(const nlohmann::json& message, const char* key);
double messageNumber(const nlohmann::json& message, const char* key);

Error engineError(const std::string& what, const std::string& where = "engine", const std::string& fix = {});

} // namespace shardboard
