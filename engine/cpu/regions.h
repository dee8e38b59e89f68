// SPDX-License-Identifier: Apache-2.0
// A region of a tensor in several row-major buffers at once, each of which holds a box of the tensor.
#pragma once

#include "engine/devices/sharded.h"
#include "engine/simd/fusedrun.h"

#include <vector>

namespace shardboard::engine {

struct RegionSource {
    const float* data = nullptr;
    const Box* box = nullptr;
};
struct RegionTarget {
    float* data = nullptr;
    const Box* box = nullptr;
};

/// As fusedRun(), for any number of targets.
void fusedTiles(const FusedRun& run);
/// The region of all sources, combined in their order, to the region of all targets. finishRuns() is the caller's.
void fuseRegion(const Box& region, const std::vector<RegionSource>& sources, const std::vector<RegionTarget>& targets, FusedSum sum,
                bool pastCaches);

} // namespace shardboard::engine
