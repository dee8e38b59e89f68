// SPDX-License-Identifier: Apache-2.0
// What each device holds of a tensor under one placement per mesh axis (max-sharding 1): larger parts first, one balanced
// split over all mesh axes that cut a dim, numbered row-major in mesh order; a name becomes one name per device.
#pragma once

#include "model/core/mesh.h"
#include "model/core/placement.h"
#include "model/ops/rows/symbols.h"
#include "model/picker/menu/refusal.h"

#include <span>
#include <string>
#include <variant>
#include <vector>

namespace shardboard {

/// A size of a device's part: a number, or a name when it has one.
struct LocalDim {
    std::int64_t size = 0;
    std::string name {};
    friend bool operator==(const LocalDim&, const LocalDim&) = default;
};
using LocalShape = std::vector<LocalDim>;

/// Row-major by device. Refused: a dim that the tensor does not have, a sum or product of names that is cut.
std::variant<std::vector<LocalShape>, Refusal> localShapes(const Shape& global, const SymbolTable& symbols,
                                                           std::span<const Placement> placements, const Mesh& mesh);

} // namespace shardboard
