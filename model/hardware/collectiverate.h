// SPDX-License-Identifier: Apache-2.0
// What a link says of one kind of collective, where that was measured.
#pragma once

#include "model/hardware/linkspec.h"

namespace shardboard {

/// Null where collectives of that kind take what the link says of all.
const CollectiveRate* findRate(const LinkSpec& link, std::string_view kind);

} // namespace shardboard
