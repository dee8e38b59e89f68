// SPDX-License-Identifier: Apache-2.0
// Hardware of the machine that a worker runs on, as it reads it.
#pragma once

#include "model/core/result.h"
#include "model/hardware/hardware.h"

#include <nlohmann/json.hpp>

#include <string>

namespace shardboard {

/// From a worker's hello: its GPUs (those of NCCL are all of the machine), or one CPU that plays all devices. Errors: it has GPUs
/// that are not known, or of different kinds.
Result<Hardware> hardwareFromHello(const nlohmann::json& hello);
/// Starts the worker (as WorkerClient does) and asks it.
Result<Hardware> hardwareHere(const std::string& engine);

} // namespace shardboard
