// SPDX-License-Identifier: Apache-2.0
#include "model/picker/feasible.h"

#include "model/picker/menu/transition.h"

#include <algorithm>

namespace shardboard {

namespace {

bool infeasible(std::string* why, auto&& text)
{
    if (why)
        *why = text();
    return false;
}

std::string dimText(std::size_t operand, int dim)
{
    return "dim " + std::to_string(dim) + " of operand " + std::to_string(operand);
}

bool tooSmall(std::string* why, std::size_t operand, int dim, std::int64_t size, std::int64_t parts)
{
    return infeasible(why, [&] {
        return dimText(operand, dim) + " has " + std::to_string(size) + " elements for " + std::to_string(parts) + " parts";
    });
}

/// A dim that any operand has cut on this mesh axis: operands are not told apart (upstream's shortcut).
bool usedOnAxis(const RowUse& use, int dim)
{
    for (std::size_t i = 0; i < use.task.operands.size(); ++i)
        if (use.from(i).shards(dim))
            return true;
    return false;
}

/// G0 to G2 judge a dim that is cut by its parts, another one by its size.
bool fitsEarly(const RowUse& use, std::size_t operand, int dim, std::string* why)
{
    const std::int64_t size = (*use.task.operands[operand].shape)[static_cast<std::size_t>(dim)];
    const std::int64_t devices = use.devices();
    const std::int64_t parts = partsOver(use.placements(operand), dim, *use.task.mesh);
    const bool cells = std::any_of(use.placements(operand).begin(), use.placements(operand).end(),
                                   [&](const Placement& p) { return p.shards(dim); });
    if (cells && isStatic(size) && size < parts)
        return infeasible(why, [&] { return dimText(operand, dim) + " has empty parts"; });
    if (!isStatic(size))
        return true;
    const std::int64_t smallest = size / parts;
    if (smallest == 1 && (devices > 1 || !cells))
        return infeasible(why, [&] { return dimText(operand, dim) + " has size 1 on a device"; });
    return usedOnAxis(use, dim) || smallest >= devices || tooSmall(why, operand, dim, size, devices * parts);
}

bool changedElsewhere(const RowUse& use, std::size_t operand)
{
    const auto& given = use.task.operands[operand].placements;
    const auto now = use.placements(operand);
    for (std::size_t axis = 0; axis < given.size(); ++axis)
        if (axis != use.axis && given[axis] != now[axis])
            return true;
    return false;
}

bool fitsLate(const RowUse& use, std::size_t operand, int dim, std::string* why)
{
    const std::int64_t size = (*use.task.operands[operand].shape)[static_cast<std::size_t>(dim)];
    if (use.from(operand).shards(dim) && !changedElsewhere(use, operand))
        return true;
    std::int64_t parts = use.devices();
    for (std::size_t axis = 0; axis < use.axes(); ++axis)
        if (axis != use.axis && use.placements(operand)[axis].shards(dim))
            parts *= use.task.mesh->axis(static_cast<int>(axis)).size;
    return !isStatic(size) || size >= parts || tooSmall(why, operand, dim, size, parts);
}

bool fitsOutput(const RowUse& use, std::string* why)
{
    const auto& limits = use.task.menu->outputLimits;
    const Placement output = use.output();
    if (limits.empty() || !output.sharded())
        return true;
    const auto dim = static_cast<std::size_t>(output.dim);
    if (dim >= limits.size())
        return infeasible(why, [&] { return "the output has no dim " + std::to_string(output.dim); });
    if (limits[dim].kind == OutputLimit::Never)
        return infeasible(why, [&] { return "dim " + std::to_string(output.dim) + " of the target is a bare name"; });
    return limits[dim].kind == OutputLimit::Open || limits[dim].size >= use.devices() || infeasible(why, [&] {
               return "dim " + std::to_string(output.dim) + " of the target has " + std::to_string(limits[dim].size)
                   + " elements for " + std::to_string(use.devices()) + " parts";
           });
}

/// Sizes that must divide over all mesh axes that would cut the dim.
const EvenSize* unevenSize(const RowUse& use)
{
    for (const EvenSize& even : use.task.menu->rows[use.row].even) {
        const auto operand = static_cast<std::size_t>(even.operand);
        std::int64_t parts = use.devices();
        for (std::size_t axis = 0; axis < use.axes(); ++axis)
            if (axis != use.axis && use.placements(operand)[axis].shards(even.dim))
                parts *= use.task.mesh->axis(static_cast<int>(axis)).size;
        if (isStatic(even.size) && even.size % parts != 0)
            return &even;
    }
    return nullptr;
}

} // namespace

bool RowUse::moves() const
{
    for (std::size_t i = 0; i < task.operands.size(); ++i)
        if (from(i) != to(i))
            return true;
    return false;
}

double RowUse::cost() const
{
    double sum = 0;
    for (std::size_t i = 0; i < task.operands.size(); ++i)
        sum += transitionPrice(task.profile, from(i), to(i), task.operands[i].bytes, devices());
    return sum;
}

const char* RowUse::unsound() const
{
    const MenuRow& r = task.menu->rows[row];
    if (r.unsound != nullptr || r.unsoundUnlessEven == nullptr)
        return r.unsound;
    return unevenSize(*this) ? r.unsoundUnlessEven : nullptr;
}

bool feasible(const RowUse& use, std::string* why)
{
    const PickTask& task = use.task;
    const MenuRow& row = task.menu->rows[use.row];
    const bool early = isEarly(task.profile);
    if (row.stay && use.moves())
        return infeasible(why, [] { return std::string("an operand would have to move, which this operation does not do"); });
    for (std::size_t i = 0; i < task.operands.size(); ++i) {
        if (row.keeps(i))
            continue;
        const Placement& to = use.to(i);
        if (!early && task.mesh->deviceCount() == 1 && !to.replicated())
            return infeasible(why, [] { return std::string("an operand on one device is replicated"); });
        if (!early && transitionPrice(task.profile, use.from(i), to, 0, use.devices()) == kInfiniteCost)
            return infeasible(why, [&] {
                return "no collective turns operand " + std::to_string(i) + " from " + use.from(i).code() + " into " + to.code();
            });
        if (!to.sharded() || (early && to == use.from(i)))
            continue;
        if (to.dim >= static_cast<int>(task.operands[i].shape->size()))
            return infeasible(why, [&] { return "operand " + std::to_string(i) + " has no dim " + std::to_string(to.dim); });
        if (early ? !fitsEarly(use, i, to.dim, why) : !fitsLate(use, i, to.dim, why))
            return false;
    }
    if (row.wholeParts) {
        // What several mesh axes together do to it is only known once all are decided.
        for (const EvenSize& even : row.even)
            if (even.size % use.devices() != 0)
                return infeasible(why, [&] { return std::to_string(even.size) + " units do not divide over the devices"; });
    } else if (task.profile == RuleProfile::Shardboard)
        if (const EvenSize* even = unevenSize(use))
            return infeasible(why, [&] { return std::to_string(even->size) + " elements do not divide over the devices"; });
    if (early && row.dropped)
        return infeasible(
            why, [] { return std::string("it is off the menu: with the operands as they came it is feasible on no mesh axis"); });
    return !early || fitsOutput(use, why);
}

Menu withFallback(const PickTask& task)
{
    Menu menu = *task.menu;
    std::vector<Placement> now;
    for (const TaskOperand& operand : task.operands)
        now.insert(now.end(), operand.placements.begin(), operand.placements.end());
    const auto usable = [&](std::size_t row) {
        for (std::size_t axis = 0; axis < static_cast<std::size_t>(task.mesh->axisCount()); ++axis)
            if (feasible({ task, now, row, axis }))
                return true;
        return false;
    };
    for (std::size_t row = 0; row < menu.rows.size(); ++row)
        menu.rows[row].dropped = !usable(row);
    MenuRow all;
    all.fallback = true;
    if (!menu.rows.empty())
        all.kept = menu.rows.front().kept;
    if (all.kept != 0 && all.kept == (std::uint64_t { 1 } << menu.operands) - 1)
        return menu; // nothing that could be replicated
    const std::vector<Placement> replicated(menu.operands);
    for (std::size_t row = menu.rows.size(); row-- > 0;) {
        if (menu.rows[row].dropped)
            continue;
        const auto needs = menu.needsOf(row);
        if (menu.rows[row].output.replicated() && menu.rows[row].outputOf < 0
            && std::equal(needs.begin(), needs.end(), replicated.begin()))
            return menu;
        break;
    }
    menu.add(std::move(all), replicated);
    return menu;
}

} // namespace shardboard
