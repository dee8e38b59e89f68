// SPDX-License-Identifier: Apache-2.0
#include "model/picker/askpicker.h"

#include "model/picker/menu/transition.h"
#include "model/picker/picktask.h"
#include "model/picker/rulemenu.h"

#include <algorithm>

namespace shardboard {

namespace {

PickerKind kindOf(const PickerOptions& options)
{
    switch (options.picker) {
    case PlanPicker::PartialsOnly:
        return PickerKind::PartialsOnly;
    case PlanPicker::None:
        return PickerKind::NoReshard;
    case PlanPicker::Greedy:
        break;
    }
    return options.profile == RuleProfile::G2 || options.profile == RuleProfile::G3 ? PickerKind::AutoReshard
                                                                                    : PickerKind::GreedyReshard;
}

PickPolicy policyOf(const PickerOptions& options)
{
    PickPolicy policy;
    policy.allowPartialToSharded = options.allowPartialToSharded;
    policy.allowed = options.allowedTransitions;
    policy.onReshard = options.onReshard;
    if (options.budgetBytesPerDevice > 0)
        policy.budget = static_cast<double>(options.budgetBytesPerDevice);
    return policy;
}

/// MAX reduces no maxima, and has no operation that makes any; to the pickers ours look like sums. Then a row that takes sums
/// as they are must not be offered.
bool takesMaximaForSums(const Row& row, const std::vector<PickOperand>& operands)
{
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (row.operands[i].partial() && !operands[i].layout.partial.empty() && operands[i].layout.op != ReduceOp::Sum)
            return true;
    return false;
}

MenuRow menuRow(const Row& row)
{
    MenuRow out;
    out.output = row.result;
    out.wholeParts = true;
    for (const WholeUnits& units : row.conditions)
        out.even.push_back({ units.operand, units.dim, units.units });
    return out;
}

} // namespace

Result<std::vector<AskedAxis>> askPicker(const std::vector<Row>& rows, const std::vector<PickOperand>& operands, const Mesh& mesh,
                                         const PickerOptions& options, const std::string& where)
{
    Menu menu;
    menu.operands = operands.size();
    std::vector<std::size_t> indices;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        if (takesMaximaForSums(rows[row], operands))
            continue;
        menu.add(menuRow(rows[row]), rows[row].operands);
        indices.push_back(row);
    }
    std::vector<std::vector<Placement>> placements;
    std::vector<TaskOperand> asked;
    for (const PickOperand& operand : operands)
        placements.push_back(placementsOf(operand.layout, mesh));
    for (std::size_t i = 0; i < operands.size(); ++i)
        asked.push_back(
            { &operands[i].shape, placements[i],
              countedBytes(options.profile, operands[i].shape, operands[i].dtype, placements[i], mesh) * operands[i].density });

    PickTrace trace;
    const auto picked = pickerOf(kindOf(options)).pick({ options.profile, &menu, asked, &mesh, policyOf(options) }, &trace);
    if (const auto* refusal = std::get_if<Refusal>(&picked))
        return inputError(where, refusal->reason, refusal->fix);
    const auto& action = std::get<PickAction>(picked);

    std::vector<AskedAxis> out;
    for (std::size_t axis = 0; axis < action.rows.size(); ++axis) {
        if (mesh.axis(static_cast<int>(axis)).size == 1)
            continue; // every placement is the same thing there
        AskedAxis one;
        one.axis = static_cast<int>(axis);
        std::vector<std::size_t> usable;
        for (std::size_t row = 0; row < menu.rows.size(); ++row)
            if (const RowVerdict& verdict = trace.axes[axis][row];
                verdict.status != RowVerdict::Status::Infeasible && verdict.cost != kInfiniteCost)
                usable.push_back(row);
        std::stable_sort(usable.begin(), usable.end(), [&](std::size_t a, std::size_t b) {
            const RowVerdict& x = trace.axes[axis][a];
            const RowVerdict& y = trace.axes[axis][b];
            return x.cost != y.cost || isEarly(options.profile) ? x.cost < y.cost : x.moves < y.moves;
        });
        bool found = false;
        for (const std::size_t row : usable) {
            if (static_cast<int>(row) == action.rows[axis]) {
                one.picked = one.rows.size();
                found = true;
            }
            one.rows.push_back({ indices[row], trace.axes[axis][row].cost, trace.axes[axis][row].why });
        }
        if (!found) // MAX takes the first action where none has a finite price
            return inputError(where,
                              "no collective can do what " + profileName(options.profile) + " picks over mesh axis '"
                                  + mesh.axis(one.axis).name + "'",
                              "change the layout of its weight");
        one.rows[one.picked].refusal.clear();
        out.push_back(std::move(one));
    }
    return out;
}

} // namespace shardboard
