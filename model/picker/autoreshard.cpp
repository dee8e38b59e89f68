// SPDX-License-Identifier: Apache-2.0
// The picker of G2 and G3 (max-sharding 3.4), and of our own profile: mesh axes one after the other, each given what the
// earlier ones committed. A row is cheap first, and among equals the one that moves fewer operands.
#include "model/picker/pickaction.h"
#include "model/picker/pickers.h"

namespace shardboard {

namespace {

int movesOf(const RowUse& use)
{
    int moves = 0;
    for (std::size_t i = 0; i < use.task.operands.size(); ++i)
        moves += use.from(i) != use.to(i);
    return moves;
}

bool allowed(const RowUse& use, const TransitionSet& set)
{
    for (std::size_t i = 0; i < use.task.operands.size(); ++i)
        if (!set.allows(use.from(i), use.to(i)))
            return false;
    return true;
}

std::string notAllowed(const RowUse& use, const TransitionSet& set)
{
    std::string out;
    for (std::size_t i = 0; i < use.task.operands.size(); ++i)
        if (!set.allows(use.from(i), use.to(i)))
            out += (out.empty() ? "" : ", ") + use.from(i).code() + "->" + use.to(i).code() + " of operand " + std::to_string(i);
    return out + " is not among the allowed transitions";
}

struct Best {
    int row = PickAction::kNoRow;
    double cost = kInfiniteCost;
    int moves = 0;
    void offer(std::size_t candidate, double price, int moved)
    {
        if (row == PickAction::kNoRow || price < cost || (price == cost && moved < moves)) {
            row = static_cast<int>(candidate);
            cost = price;
            moves = moved;
        }
    }
};

class Sequential {
public:
    Sequential(const PickTask& task, const TransitionSet& set, PickTrace* trace)
        : m_task(task)
        , m_set(set)
        , m_trace(trace)
        , m_original(placementsNow(task))
        , m_now(m_original)
    {
        startTrace(trace, task);
    }

    Picked run(const char* setName)
    {
        const auto axes = static_cast<std::size_t>(m_task.mesh->axisCount());
        std::string undecided;
        std::vector<int> rows;
        rows.reserve(axes);
        for (std::size_t axis = 0; axis < axes; ++axis) {
            if (const auto unknown = anyUnknown(axis); unknown != Unknown::No && m_task.options.profile != PickerProfile::Max267) {
                if (unknown == Unknown::WithPartial)
                    return Refusal { UpstreamError::ShardingError, "inputs",
                                     "an operand is unknown (U) on mesh axis '" + nameOf(axis)
                                         + "' and another one is partial there",
                                     "reduce the partial one first" };
                rows.push_back(PickAction::kNoRow);
                continue;
            }
            Best any;
            Best byDefault;
            Best chosen;
            static const TransitionSet defaults = TransitionSet::defaults();
            Refusal why;
            for (std::size_t row = 0; row < m_task.menu->rows.size(); ++row) {
                const RowUse use { m_task, m_now, row, axis };
                if (!feasible(use, m_trace ? &why : nullptr)) {
                    if (m_trace)
                        judge(*m_trace, axis, row, { RowVerdict::Status::Infeasible, kInfiniteCost, std::move(why.reason), 0 });
                    continue;
                }
                const double cost = use.cost();
                if (cost == kInfiniteCost) {
                    if (m_trace)
                        judge(*m_trace, axis, row, { RowVerdict::Status::Infeasible, cost, "there is no collective for it", 0 });
                    continue;
                }
                const int moves = movesOf(use);
                any.offer(row, cost, moves);
                if (allowed(use, defaults))
                    byDefault.offer(row, cost, moves);
                const bool may = allowed(use, m_set);
                if (may)
                    chosen.offer(row, cost, moves);
                if (m_trace)
                    judge(*m_trace, axis, row,
                          { may ? RowVerdict::Status::Allowed : RowVerdict::Status::Refused, cost,
                            may ? "" : notAllowed(use, m_set), moves });
            }
            if (any.row == PickAction::kNoRow)
                return Refusal { UpstreamError::ShardingError, "inputs",
                                 "no row of the operation is feasible on mesh axis '" + nameOf(axis) + "'",
                                 "change the placements of its operands" };
            if (chosen.row == PickAction::kNoRow && undecided.empty())
                undecided = nameOf(axis);
            const int commit = chosen.row != PickAction::kNoRow ? chosen.row
                : byDefault.row != PickAction::kNoRow           ? byDefault.row
                                                                : any.row;
            rows.push_back(commit);
            for (std::size_t i = 0; i < m_task.operands.size(); ++i) {
                const Placement to = RowUse { m_task, m_now, static_cast<std::size_t>(commit), axis }.to(i);
                m_now[i * axes + axis] = to;
            }
        }
        if (!undecided.empty())
            return Refusal { UpstreamError::ShardingError, setName,
                             "no row on mesh axis '" + undecided + "' uses only allowed transitions",
                             "allow more transitions, or reshard the operands first" };
        PickAction action = actionOf(m_task, m_original, std::move(rows));
        if (m_task.options.profile == PickerProfile::Max267 && m_task.mesh->deviceCount() == 1)
            action.inputs = m_original; // an operand on one device is never moved
        markPicked(m_trace, action);
        return action;
    }

private:
    enum class Unknown { No, Alone, WithPartial };
    Unknown anyUnknown(std::size_t axis) const
    {
        bool unknown = false;
        bool partial = false;
        for (const PickOperand& operand : m_task.operands) {
            unknown = unknown || operand.placements[axis].unknown();
            partial = partial || operand.placements[axis].partial();
        }
        return !unknown ? Unknown::No : partial ? Unknown::WithPartial : Unknown::Alone;
    }
    const std::string& nameOf(std::size_t axis) const { return m_task.mesh->axis(static_cast<int>(axis)).name; }

    const PickTask& m_task;
    const TransitionSet m_set;
    PickTrace* m_trace;
    std::vector<Placement> m_original;
    std::vector<Placement> m_now;
};

} // namespace

Picked autoReshard(const PickTask& task, PickTrace* trace)
{
    return Sequential(task, task.options.allowedTransitions, trace).run("policy.allowed_transitions");
}

Picked pickInTurn(const PickTask& task, PickTrace* trace)
{
    const TransitionSet set = task.options.allowPartialToSharded ? TransitionSet::all() : TransitionSet::defaults();
    return Sequential(task, set, trace).run("policy.allow_partial_to_sharded");
}

} // namespace shardboard
