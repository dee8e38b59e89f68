// SPDX-License-Identifier: Apache-2.0
// A family of operations that share a sharding rule (max-sharding 2), as a table entry: what it takes, its rows in order with
// the generations that have them, and which rows do not compute the right thing. To add an operation: a name in the
// `aliases` of its family, or an entry in one of the tables of model/picker/max (registry.h lists them).
#pragma once

#include "model/core/mesh.h"
#include "model/ops/rows/attributes.h"
#include "model/ops/rows/pickerprofile.h"
#include "model/picker/menu/menu.h"
#include "model/picker/menu/refusal.h"

#include <optional>
#include <vector>

namespace shardboard {

/// What rows are made for.
struct RuleQuestion {
    PickerProfile profile = PickerProfile::G1;
    const std::vector<PickOperand>& operands;
    const std::vector<AttributeValue>& attributes; ///< in the order of the family's specs; dims count from the front
    const Mesh& mesh;
};

/// Adds the rows of an operation that never moves its operands (MAX 26.7): for each mesh axis the one that keeps all of them,
/// with the result that `result(their placements there)` gives. False where it gives none, so that the operation cannot run.
template <class Result>
bool addPassThrough(const RuleQuestion& question, Menu& menu, Result result)
{
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(question.mesh.axisCount()); ++axis) {
        Row row { .stay = true };
        for (const PickOperand& operand : question.operands)
            row.operands.push_back(operand.placements[axis]);
        const std::optional<Placement> made = result(row.operands);
        if (!made)
            return false;
        row.result = *made;
        menu.rows.push_back(std::move(row));
    }
    return true;
}

/// What must hold, or the operation is refused.
struct CheckText {
    const char* holds = "1";
    UpstreamError error = UpstreamError::ValueError;
    const char* key = "";
    const char* reason = "";
    const char* fix = "";
};

struct OpFamily {
    const char* name = "";
    std::vector<const char*> aliases {};
    int fewest = 1; ///< operands
    int most = 1; ///< -1: any number
    std::vector<AttributeSpec> attributes {};
    std::vector<CheckText> checks {};
    const char* rule = ""; ///< model/ops/shardingrule.h
    std::vector<const char*> reasons {}; ///< why the rows that are marked `unsound` are
    /// For rules that need more than ranks and sizes; called after `rule`.
    std::optional<Refusal> (*code)(const RuleQuestion& question, Menu& menu) = nullptr;
    bool flattens = false; ///< without an axis it works on the operand reshaped to one dim
    const char* note = nullptr; ///< said with every answer
};

} // namespace shardboard
