// SPDX-License-Identifier: Apache-2.0
// What the device that holds the most of a tensor holds.
#pragma once

#include "model/core/layout.h"
#include "model/core/mesh.h"
#include "model/core/tensor.h"

#include <cstdint>

namespace shardboard {

/// Per dim the size of the largest part.
Shape largestShape(const Shape& shape, const Layout& layout, const Mesh& mesh);
/// Elements on the device that holds the most, for balanced cuts.
std::int64_t largestShard(const Shape& shape, const Layout& layout, const Mesh& mesh);

} // namespace shardboard
