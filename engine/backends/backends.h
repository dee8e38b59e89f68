// SPDX-License-Identifier: Apache-2.0
// The backends of this build; engine/run/backend.h says how to add one.
#pragma once

#include "engine/run/backend.h"
#ifdef SHARDBOARD_MPI
#include "engine/mpi/processbackend.h"
#endif

#include <string>
#include <variant>
#include <vector>

namespace shardboard::engine {

/// All that this build knows, the cpu first. Made when first asked for: looking for devices takes a moment.
const std::vector<Backend>& backends();

/// The usable backend of that name, or Failure "backend" that says why there is none.
std::variant<const Backend*, Failure> backendNamed(const std::string& name, const std::string& where);

/// Runs on the backend that the options name. Never throws.
RunOutcome runOnBackend(const RunRequest& request);

#ifdef SHARDBOARD_MPI
/// What every process of a launcher does for the backends of this build, beside mpi.
mpi::ProcessBackends processBackends();
#endif

} // namespace shardboard::engine
