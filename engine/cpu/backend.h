// SPDX-License-Identifier: Apache-2.0
// The CPU backend for the list of backends.
#pragma once

#include "engine/run/backend.h"

namespace shardboard::engine {

/// The logical devices as tasks on the cores of this machine.
Backend cpuBackend();

/// What it does with a program.
RunOutcome runOnCpu(const RunRequest& request);

} // namespace shardboard::engine
