// SPDX-License-Identifier: Apache-2.0
// Executes one reshard step between the logical devices. A device reads only from members of its own
// device group over the step's mesh axes; a step for which that does not suffice is refused.
#pragma once

#include "engine/devices/context.h"
#include "engine/devices/sharded.h"
#include "model/plan/reshard/reshard.h"

#include <string>

namespace shardboard::engine {

/// Returns the tensor in the layout `step.after`, in memory of its own. `tensor` has the layout `step.before` and memory.
/// Values over axes that stop being partial are summed (or their maximum taken) in group order, so that all replicas are alike bit
/// for bit. `broken` is the test hook: every device leaves out what the last other member of its group contributes. Throws Failure
/// "bad-plan" for an unsound step. When planning, only the work is counted.
struct Resharded {
    Sharded tensor;
    Timing timing;
};
Resharded executeStep(Context& context, const ReshardStep& step, const Sharded& tensor, bool broken, const std::string& where);

/// Axes over which the step sums (or takes the maximum). Throws when the step is no reshard.
std::vector<int> summedAxes(const ReshardStep& step, const std::string& where);

/// One read of a device: a region of the tensor, taken from the shard of another device (or itself).
struct Transfer {
    std::int64_t from = 0;
    Box region;
    bool add = false; ///< added to what is there (or the maximum with it taken), else written
};
/// What a device does to get its shard of `after`. The transfers of each addend cover the shard exactly.
std::vector<Transfer> transfersOf(const ReshardStep& step, const Sharded& before, const Sharded& after, std::int64_t device,
                                  const std::string& where);

/// What the test hook does to the transfers of a device: the last one that comes from another device is left out.
void breakTransfers(std::vector<Transfer>& transfers, std::int64_t device);

} // namespace shardboard::engine
