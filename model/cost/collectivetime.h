// SPDX-License-Identifier: Apache-2.0
// Predicted seconds of a collective: alpha-beta ring form (performance 1.1). First order; never falls when bytes grow.
#pragma once

#include "model/core/mesh.h"
#include "model/hardware/hardware.h"
#include "model/plan/reshard.h"

namespace shardboard {

/// The link that a device group over these mesh axes has to use: `intra` while all its members share a node (positions
/// are numbered row-major over the mesh, devicesPerNode to a node), else `inter`.
const LinkSpec& linkOf(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware);

/// `bytes` is S, the large side on one member. Zero for a local slice or a group of one.
double collectiveSeconds(CollectiveKind kind, std::int64_t bytes, std::int64_t groupSize, const LinkSpec& link);

} // namespace shardboard
