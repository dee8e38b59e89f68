// SPDX-License-Identifier: Apache-2.0
// What a reshard step reads and writes, put together so that every addend is read once and every result written once: the
// devices that want the same region of the same sources get it in one pass. That is the least that a step can move
// through a memory that all devices share.
#pragma once

#include "engine/devices/collective.h"
#include "engine/simd/fusedrun.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace shardboard::engine {

struct Fusion {
    Box region;
    std::vector<std::int64_t> sources; ///< devices, combined in this order
    std::vector<std::int64_t> targets; ///< devices that all write the result
};

/// From the reads of each device; with `shared` false every device writes its own result alone. Nothing when the addends of a
/// device are cut in different ways.
std::optional<std::vector<Fusion>> fusionsOf(const std::vector<std::vector<Transfer>>& transfers, bool shared = true);

/// The work on a region is shared by the devices that want it.
Timing runFusions(Context& context, const Sharded& before, const std::vector<Fusion>& fusions, FusedSum sum, Sharded& after);

} // namespace shardboard::engine
