// SPDX-License-Identifier: Apache-2.0
#include "model/picker/rules.h"

#include "model/ops/opdefinition.h"
#include "model/ops/shardingrule.h"

namespace shardboard {

std::vector<Row> rowsFor(OpKind kind, const std::vector<Shape>& operands, const Shape& result, PickerProfile profile)
{
    return ruleOf(kind).rows(operands, result, profile == PickerProfile::Shardboard);
}

} // namespace shardboard
