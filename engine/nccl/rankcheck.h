// SPDX-License-Identifier: Apache-2.0
// Holds reshard steps over several GPUs (Ranks) against the engine's own collectives: for `shardboard-engine --check-nccl`, and for
// tests with stand-ins.
#pragma once

#include "engine/devices/sharded.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard::engine::nccl {

class Ranks;

/// Whole numbers, so that sums are exact in any order; others for each addend of a partial tensor.
void fillExactly(Sharded& tensor);

/// Random reshard steps, step by step held against the engine's own collectives: whole numbers, so that sums are exact in any
/// order.
struct RanksChecked {
    int steps = 0;
    std::vector<int> byCall = std::vector<int>(9, 0); ///< by What
    std::string wrong; ///< empty, or the first step that led somewhere else
};
RanksChecked checkRanks(Ranks& ranks, std::int64_t count, int trials, unsigned seed);

} // namespace shardboard::engine::nccl
