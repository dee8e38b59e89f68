// SPDX-License-Identifier: Apache-2.0
// What profile shardboard ranks rows by.
#pragma once

#include "model/picker/greedy.h"
#include "model/plan/reshard/reshard.h"

namespace shardboard {

/// Predicted seconds. Keeps a reference to the planner.
inline LinkPrice linkPrice(ReshardPlanner& resharding)
{
    return [&resharding](CollectiveKind kind, int axis, double bytes) {
        return resharding.seconds(kind, { axis }, static_cast<std::int64_t>(bytes));
    };
}

} // namespace shardboard
