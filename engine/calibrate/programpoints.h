// SPDX-License-Identifier: Apache-2.0
// What operations and collectives took in a program that ran, as points of a calibration: beside others, and on what those left
// in the caches.
#pragma once

#include "model/io/wire/calibration.h"
#include "model/io/wire/messages.h"
#include "model/plan/program.h"

#include <vector>

namespace shardboard::engine {

/// One for each that took time; of layers that are alike one. Collectives of a pipeline are left out. `result` is of a run of that
/// program.
std::vector<CalibrationPoint> pointsOf(const Program& program, const RunResult& result);

} // namespace shardboard::engine
