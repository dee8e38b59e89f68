// SPDX-License-Identifier: Apache-2.0
#include "model/picker/feasible.h"

#include <algorithm>

namespace shardboard {

namespace {

bool infeasible(Refusal* why, auto&& text)
{
    if (why)
        *why = { .reason = text(), .kind = Refusal::Kind::Profile };
    return false;
}

std::string dimText(std::size_t operand, int dim)
{
    return "dim " + std::to_string(dim) + " of operand " + std::to_string(operand);
}

bool tooSmall(Refusal* why, std::size_t operand, int dim, std::int64_t size, std::int64_t parts)
{
    if (why)
        *why = { .reason =
                     dimText(operand, dim) + " has " + std::to_string(size) + " elements for " + std::to_string(parts) + " parts",
                 .kind = Refusal::Kind::TooSmall,
                 .operand = static_cast<int>(operand),
                 .dim = dim,
                 .have = size,
                 .parts = parts };
    return false;
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
bool fitsEarly(const RowUse& use, std::size_t operand, int dim, Refusal* why)
{
    const std::int64_t size = use.task.operands[operand].shape[static_cast<std::size_t>(dim)];
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

std::int64_t partsElsewhere(const RowUse& use, std::size_t operand, int dim)
{
    std::int64_t parts = 1;
    for (std::size_t axis = 0; axis < use.axes(); ++axis)
        if (axis != use.axis && use.placements(operand)[axis].shards(dim))
            parts *= use.task.mesh->axis(static_cast<int>(axis)).size;
    return parts;
}

bool fitsLate(const RowUse& use, std::size_t operand, int dim, Refusal* why)
{
    const std::int64_t size = use.task.operands[operand].shape[static_cast<std::size_t>(dim)];
    if (use.from(operand).shards(dim) && !changedElsewhere(use, operand))
        return true;
    const std::int64_t parts = use.devices() * partsElsewhere(use, operand, dim);
    return !isStatic(size) || size >= parts || tooSmall(why, operand, dim, size, parts);
}

bool fitsOutput(const RowUse& use, Refusal* why)
{
    const auto& limits = use.task.menu->outputLimits;
    const Placement output = use.result();
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

/// Units that do not divide over the mesh axis or, where no plan looks at them together later, over all that would cut the dim.
const WholeUnits* brokenUnits(const RowUse& use)
{
    for (const WholeUnits& units : use.wanted().conditions) {
        const std::int64_t elsewhere =
            use.task.ofPlan ? 1 : partsElsewhere(use, static_cast<std::size_t>(units.operand), units.dim);
        if (isStatic(units.units) && !units.fits(use.devices() * elsewhere))
            return &units;
    }
    return nullptr;
}

} // namespace

bool RowUse::moves() const
{
    const Row& asked = wanted();
    for (std::size_t i = 0; i < task.operands.size(); ++i)
        if (!asked.keeps(i) && from(i) != asked.operands[i])
            return true;
    return false;
}

double RowUse::cost() const
{
    double sum = 0;
    const Row& asked = wanted();
    const PriceRules rules = task.prices();
    const std::int64_t parts = devices();
    for (std::size_t i = 0; i < task.operands.size(); ++i)
        if (!asked.keeps(i))
            sum += transitionPrice(rules, from(i), asked.operands[i], task.bytes[i], parts);
    return sum;
}

const char* RowUse::unsound() const { return wanted().soundIfWhole && !brokenUnits(*this) ? nullptr : wanted().unsound; }

bool feasible(const RowUse& use, Refusal* why)
{
    const PickTask& task = use.task;
    const Row& row = use.wanted();
    const PriceRules rules = task.prices();
    const bool early = isEarly(task.options.profile);
    if (row.stay && use.moves())
        return infeasible(why, [] { return std::string("an operand would have to move, which this operation does not do"); });
    for (std::size_t i = 0; i < task.operands.size(); ++i) {
        if (row.keeps(i))
            continue;
        const Placement& to = row.operands[i];
        if (!early && task.mesh->deviceCount() == 1 && !to.replicated())
            return infeasible(why, [] { return std::string("an operand on one device is replicated"); });
        if (!early && transitionPrice(rules, use.from(i), to, 0, use.devices()) == kInfiniteCost) {
            if (why)
                *why = { .reason = "no collective turns operand " + std::to_string(i) + " from " + use.from(i).code() + " into "
                             + to.code(),
                         .kind = Refusal::Kind::NotPartial,
                         .operand = static_cast<int>(i) };
            return false;
        }
        if (!to.sharded() || (early && to == use.from(i)))
            continue;
        if (to.dim >= static_cast<int>(task.operands[i].shape.size()))
            return infeasible(why, [&] { return "operand " + std::to_string(i) + " has no dim " + std::to_string(to.dim); });
        if (early ? !fitsEarly(use, i, to.dim, why) : !fitsLate(use, i, to.dim, why))
            return false;
    }
    if (!row.soundIfWhole || task.options.profile == PickerProfile::Shardboard)
        if (const WholeUnits* units = brokenUnits(use)) {
            if (why)
                *why = { .reason = std::to_string(units->units) + " elements do not divide over the devices",
                         .kind = Refusal::Kind::Units,
                         .operand = units->operand,
                         .dim = units->dim,
                         .have = units->units,
                         .parts = use.devices(),
                         .units = units->what };
            return false;
        }
    if (early && row.dropped)
        return infeasible(
            why, [] { return std::string("it is off the menu: with the operands as they came it is feasible on no mesh axis"); });
    return !early || fitsOutput(use, why);
}

Menu withFallback(const PickTask& task)
{
    Menu menu = *task.menu;
    std::vector<Placement> now;
    for (const PickOperand& operand : task.operands)
        now.insert(now.end(), operand.placements.begin(), operand.placements.end());
    const auto usable = [&](std::size_t row) {
        for (std::size_t axis = 0; axis < static_cast<std::size_t>(task.mesh->axisCount()); ++axis)
            if (feasible({ task, now, row, axis }))
                return true;
        return false;
    };
    for (std::size_t row = 0; row < menu.rows.size(); ++row)
        menu.rows[row].dropped = !usable(row);
    Row all { .operands = std::vector<Placement>(task.operands.size()), .fallback = true };
    if (!menu.rows.empty())
        all.kept = menu.rows.front().kept;
    if (all.kept != 0 && all.kept == (std::uint64_t { 1 } << task.operands.size()) - 1)
        return menu; // nothing that could be replicated
    const auto last = std::find_if(menu.rows.rbegin(), menu.rows.rend(), [](const Row& row) { return !row.dropped; });
    if (last == menu.rows.rend() || !last->result.replicated() || last->resultOf >= 0 || last->operands != all.operands)
        menu.rows.push_back(std::move(all));
    return menu;
}

} // namespace shardboard
