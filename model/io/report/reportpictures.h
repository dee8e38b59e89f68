// SPDX-License-Identifier: Apache-2.0
// The pictures of a report, as SVG elements whose colors come from the classes of its style sheet.
#pragma once

#include "model/design/weightlayout.h"
#include "model/plan/memorybytes.h"
#include "model/timeline/lanes.h"

#include <string>

namespace shardboard {

/// Devices in rows, neighbors along the last mesh axis beside each other; of large meshes the first ones.
std::string meshPicture(const Mesh& mesh);
/// How a weight is cut: its shards along the first two dims.
std::string shardPicture(const WeightLayout& weight);
/// A bar by cause against the limit, and a legend.
std::string memoryPicture(const MemoryBytes& memory, std::int64_t limit);
/// A bar of two parts, each a share of it in [0, 1].
std::string barPicture(double solid, double other);
/// Lanes on one ruler, `most` of them at most.
std::string lanesPicture(const Timeline& timeline, std::size_t most);

} // namespace shardboard
