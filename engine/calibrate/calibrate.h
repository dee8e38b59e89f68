// SPDX-License-Identifier: Apache-2.0
// Measures this machine for the cost model: the engine's own operations and collectives over sizes that grow by a factor.
// Nothing is fitted here.
#pragma once

#include "engine/run/backend.h"

#include <string>
#include <variant>

namespace shardboard::engine {

/// Never throws. Errors: memory, cancelled, internal. `workers` 0: one for each core.
std::variant<Calibration, Failure> calibrate(const CalibrationOptions& options, const CalibrateHooks& hooks, int workers = 0);

class Executor;
/// The same on an executor's device, with sizes for a GPU, in the element that it uses most. `machine` is its name.
std::variant<Calibration, Failure> calibrateOn(Executor& executor, const std::string& machine, const CalibrationOptions& options,
                                               const CalibrateHooks& hooks);

class Team;
/// By the processes of one host, which share memory: all of them call it. Kernels are measured by the first one while the others
/// wait, collectives by all of them, with the devices spread over them and `workers` threads in each. All return the collectives,
/// the first one all points. The hooks are called in the first one.
std::variant<Calibration, Failure> calibrateOn(Team& team, const CalibrationOptions& options, const CalibrateHooks& hooks,
                                               int workers);

} // namespace shardboard::engine
