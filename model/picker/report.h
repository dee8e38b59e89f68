// SPDX-License-Identifier: Apache-2.0
// What a picker tells about a resharding (max-sharding 3.5): what MAX's reports contain, and what they leave out: every
// candidate with its price, what refused it, and what would be wrong with its result.
#pragma once

#include "model/picker/operation.h"

namespace shardboard {

/// Several lines, ending with a newline; empty when nothing moves and nothing was refused.
std::string pickReport(const PickQuestion& question, const PickAnswer& answer);

} // namespace shardboard
