// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/core/shards.h"

namespace shardboard {

/// Whether some part of a dim begins or ends inside a run of `grain` elements that belong together.
bool cutsThrough(const DimCut& cut, std::int64_t grain);

} // namespace shardboard
