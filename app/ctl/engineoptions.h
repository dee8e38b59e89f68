// SPDX-License-Identifier: Apache-2.0
// The options that say how the worker is started.
#pragma once

#include "app/ctl/arguments.h"
#include "app/worker/workercommand.h"
#include "model/core/result.h"

#include <string>

namespace shardboard {

/// The options --engine, --ranks and --hosts, for this backend. Errors: they contradict each other, or the hosts are none.
Result<EngineStart> engineStartOf(const Arguments& arguments, const std::string& backend);

} // namespace shardboard
