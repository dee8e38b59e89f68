// SPDX-License-Identifier: Apache-2.0
// The command that starts the worker where a backend needs more than the program itself.
#pragma once

#include "model/core/result.h"

#include <cstdint>
#include <string>

namespace shardboard {

/// For WorkerProcess::start. `engine` is what the user asks for, and is taken as it is; where it is empty and SHARDBOARD_ENGINE
/// does not say otherwise, the backend mpi is started by mpirun on this host, with `ranks` processes (0: one for every logical
/// device, at most as many as there are cores, at least two). Errors: there is no mpirun.
Result<std::string> engineCommandFor(const std::string& backend, const std::string& engine, std::int64_t ranks, std::int64_t devices);

} // namespace shardboard
