// SPDX-License-Identifier: Apache-2.0
// The legend of the mesh's colours: an entry for each shard of the selected weight or, where nothing that is cut is selected, for
// each place along the mesh axis that colours the devices; one entry for all where they are too many to be named one by one.
#pragma once

#include "widgets/look/devicecolors.h"
#include "widgets/look/legend.h"

#include <cstdint>
#include <vector>

namespace shardboard {

/// Empty where all devices have the same colour. `brief` gives numbers alone, for little room; many have them anyway.
std::vector<LegendEntry> meshLegend(const DeviceColors& colors, bool brief = false);
/// Whether a device of this colour, as DeviceColors::indexAt gives it, is what an entry shows; every one is of an empty key.
bool isOfMeshLegend(std::int64_t color, const QString& key);

} // namespace shardboard
