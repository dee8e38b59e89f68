// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cost/collectiveprices.h"
#include "model/plan/plan.h"

#include <cstdint>

namespace shardboard {

/// Seconds of one occurrence that moves `bytes`, with algorithm and links.
void setPrice(Collective& collective, std::int64_t bytes, CollectivePrices& prices);

} // namespace shardboard
