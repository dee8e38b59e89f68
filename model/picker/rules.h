// SPDX-License-Identifier: Apache-2.0
// With which placements an operation can run. Row order matters, because ties go to the earlier row.
#pragma once

#include "model/ops/graph.h"
#include "model/ops/rows/pickerprofile.h"
#include "model/ops/rows/row.h"

#include <vector>

namespace shardboard {

/// Rows of an operation for operands and a result of these shapes, in order.
std::vector<Row> rowsFor(OpKind kind, const std::vector<Shape>& operands, const Shape& result, PickerProfile profile);

} // namespace shardboard
