// SPDX-License-Identifier: Apache-2.0
// Small models under several layouts and workloads, of which a calibration measures what operations and collectives take beside
// others.
#pragma once

#include "model/core/result.h"
#include "model/plan/program.h"

#include <vector>

namespace shardboard {

/// Of two layers in float32 on two to four logical devices; a run of the largest one needs 1.1 GiB. `quick`: a few of them.
Result<std::vector<Program>> calibrationPrograms(bool quick);

} // namespace shardboard
