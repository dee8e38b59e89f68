// SPDX-License-Identifier: Apache-2.0
// Predicted seconds of a collective: alpha-beta ring form (performance 1.1). First order; never falls when bytes grow.
#pragma once

#include "model/core/mesh.h"
#include "model/cost/kernelwork.h"
#include "model/hardware/hardware.h"
#include "model/plan/reshard.h"

namespace shardboard {

/// The link that a device group over these mesh axes has to use: `intra` while all its members share a node (positions
/// are numbered row-major over the mesh, devicesPerNode to a node), else `inter`.
const LinkSpec& linkOf(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware);

/// `bytes` is S, the large side on one member. Zero for a local slice or a group of one.
double collectiveSeconds(CollectiveKind kind, std::int64_t bytes, std::int64_t groupSize, const LinkSpec& link);

/// A kernel of `flops` that touches `bytes` of memory: 5.5 us + max(flops / (0.78 peak), bytes / (0.80 bandwidth))
/// (performance 2.1, fitted on H100 GEMMs).
double kernelSeconds(double flops, double bytes, DType type, const Hardware& hardware);
/// Zero for a kernel that does nothing.
double kernelSeconds(const KernelWork& work, const Hardware& hardware);

} // namespace shardboard
