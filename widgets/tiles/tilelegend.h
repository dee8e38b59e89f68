// SPDX-License-Identifier: Apache-2.0
// The legend of tiles: `cut`, `uneven`, `padded`, `whole`, those that are in view.
#pragma once

#include "widgets/look/legend.h"

#include <vector>

namespace shardboard {

struct TileKinds {
    bool cut = false;
    bool uneven = false;
    bool padded = false;
    bool whole = false;
};

std::vector<LegendEntry> tileLegend(const TileKinds& kinds);

} // namespace shardboard
