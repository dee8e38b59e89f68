// SPDX-License-Identifier: Apache-2.0
// Edits of the order of a mesh: of its axes, and of the devices on its positions. Pure functions on designs.
#pragma once

#include "model/core/result.h"
#include "model/design/design.h"

#include <cstdint>
#include <vector>

namespace shardboard {

/// The axis `from` at the place `to` among the others; devices are numbered anew, row-major, since other ones become neighbours.
Result<Design> withAxisMoved(const Design& design, int from, int to);
/// Device ids by position so that neighbours along `axis` have ids in a row; the other axes in their order, the last one fastest.
std::vector<std::int64_t> deviceOrderAlong(const Mesh& mesh, int axis);
/// Devices numbered along an axis first; -1: row-major, as a mesh is at first.
Result<Design> withDevicesAlong(const Design& design, int axis);
/// The devices of two positions change places.
Result<Design> withDevicesSwapped(const Design& design, std::int64_t one, std::int64_t other);

} // namespace shardboard
