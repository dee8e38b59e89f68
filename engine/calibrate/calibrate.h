// SPDX-License-Identifier: Apache-2.0
// Measures this machine for the cost model: the engine's own operations and collectives over sizes that grow by a factor, and those
// of programs (engine/calibrate/programruns.h). Nothing is fitted here.
#pragma once

#include "engine/run/backend.h"

#include <string>
#include <variant>

namespace shardboard::engine {

class DeviceExecutor;
class Executor;
class Team;

/// The threads of this process, then hooks.programs on them. Never throws. Errors: memory, cancelled, internal. `workers` 0: as
/// many as the executor wants.
std::variant<Calibration, Failure> calibrate(Executor& executor, const CalibrationOptions& options, const CalibrateHooks& hooks,
                                             int workers = 0);

/// The same on a device, with sizes for a GPU, in the element that it uses most. `machine` is its name.
std::variant<Calibration, Failure> calibrateOn(DeviceExecutor& executor, const std::string& machine,
                                               const CalibrationOptions& options, const CalibrateHooks& hooks);

/// By the processes of one host, which share memory: all of them call it. Kernels are measured by the first one while the others
/// wait, collectives by all of them, with the devices spread over them and `workers` threads in each. All return the collectives,
/// the first one all points. The hooks are called in the first one.
std::variant<Calibration, Failure> calibrateOn(Team& team, Executor& executor, const CalibrationOptions& options,
                                               const CalibrateHooks& hooks, int workers);

} // namespace shardboard::engine
