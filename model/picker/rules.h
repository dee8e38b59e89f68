// SPDX-License-Identifier: Apache-2.0
// Rules: with which placements an operation can run. A rule lists rows operands -> result that hold on one mesh axis,
// independent of the others (max-sharding 2). Row order matters, because ties go to the earlier row.
#pragma once

#include "model/core/placement.h"
#include "model/design/design.h"
#include "model/ops/graph.h"

#include <string>
#include <vector>

namespace shardboard {

/// A condition on a row: `units` (heads, say) of an operand's dim must divide over all axes that cut the dim; or, where
/// `unitElements` is set, the dim is cut in whole units of so many elements, at least one for each part.
struct WholeUnits {
    int operand = 0;
    int dim = 0;
    std::int64_t units = 1;
    std::string what; ///< `32 heads`
    std::int64_t unitElements = 0; ///< 0: the units must divide
};

/// A dim that a row cuts and that is made of whole units, of so many elements each: its parts are whole units.
struct FusedDim {
    int operand = 0; ///< -1: the result
    int dim = 0;
    std::int64_t unitElements = 1;
};

struct Row {
    std::vector<Placement> operands;
    Placement result;
    std::vector<WholeUnits> conditions;
    std::vector<FusedDim> fused;
    std::vector<int> ring {}; ///< operands that travel around the ring of devices while the operation runs
};

/// Rows of an operation for operands and a result of these shapes, in order.
std::vector<Row> rowsFor(OpKind kind, const std::vector<Shape>& operands, const Shape& result, PickerProfile profile);

} // namespace shardboard
