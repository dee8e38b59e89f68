// SPDX-License-Identifier: Apache-2.0
// The pickers of G0 and G1 (max-sharding 3.3). GreedyReshard takes the cheapest of all combinations of rows over the mesh
// axes; every row is judged against what the operands are at first, on all mesh axes. Without a budget mesh axes are
// independent of each other, so that combinations need not be listed.
#include "model/picker/pickaction.h"
#include "model/picker/pickers.h"

#include <algorithm>

namespace shardboard {

namespace {

/// A row that is feasible on a mesh axis.
struct Candidate {
    std::size_t row = 0;
    double cost = 0;
    bool refused = false;
};

struct Axes {
    std::vector<Placement> now;
    std::vector<std::vector<Candidate>> candidates; ///< per mesh axis, in menu order
};

Refusal noRow(const PickTask& task, std::size_t axis, UpstreamError error)
{
    return { error, "", "no row of the operation is feasible on mesh axis '" + task.mesh->axis(static_cast<int>(axis)).name + "'",
             "change the placements of its operands" };
}

/// Feasible rows; `refuse` gives the reason why the picker does not take one, or nothing.
template <class Refuse>
Axes collect(const PickTask& task, PickTrace* trace, Refuse refuse)
{
    Axes out { placementsNow(task), {} };
    startTrace(trace, task);
    const auto axes = static_cast<std::size_t>(task.mesh->axisCount());
    out.candidates.resize(axes);
    for (std::size_t axis = 0; axis < axes; ++axis) {
        out.candidates[axis].reserve(task.menu->rows.size());
        Refusal why;
        for (std::size_t row = 0; row < task.menu->rows.size(); ++row) {
            const RowUse use { task, out.now, row, axis };
            if (!feasible(use, trace ? &why : nullptr)) {
                if (trace)
                    judge(*trace, axis, row, { RowVerdict::Status::Infeasible, kInfiniteCost, std::move(why.reason), 0 });
                continue;
            }
            const char* refusal = refuse(use);
            const double cost = use.cost();
            out.candidates[axis].push_back({ row, cost, refusal != nullptr });
            if (trace)
                judge(*trace, axis, row,
                      { refusal ? RowVerdict::Status::Refused : RowVerdict::Status::Allowed, cost, refusal ? refusal : "",
                        use.moves() });
        }
    }
    return out;
}

/// A combination fits when every device holds no more than the budget of the operands.
class BudgetSearch {
public:
    BudgetSearch(const PickTask& task, const Axes& axes)
        : m_task(task)
        , m_axes(axes)
    {
    }

    /// The cheapest combination that fits, without rows that are refused; earlier ones among equals. Empty when none fits.
    std::vector<int> best(bool withRefused)
    {
        m_best.clear();
        m_bestCost = kInfiniteCost;
        search(withRefused, true);
        if (m_best.empty())
            search(withRefused, false);
        return m_best;
    }
    bool gaveUp() const { return m_steps > kMostSteps; }
    /// Whether a row is in any combination that fits.
    bool fits(std::size_t axis, std::size_t row)
    {
        m_only = { axis, row };
        const bool found = !best(true).empty();
        m_only.reset();
        return found;
    }

private:
    /// Rows that cut the same operands are alike for the budget: only the best of them can be part of the answer.
    struct Kind {
        std::uint64_t cuts = 0;
        const Candidate* candidate = nullptr;
    };

    void search(bool withRefused, bool finite)
    {
        m_kinds.clear();
        for (std::size_t axis = 0; axis < m_axes.candidates.size(); ++axis) {
            std::vector<Kind> kinds;
            for (const Candidate& candidate : m_axes.candidates[axis]) {
                if ((candidate.refused && !withRefused) || (finite && candidate.cost == kInfiniteCost))
                    continue;
                if (m_only && m_only->first == axis && m_only->second != candidate.row)
                    continue;
                std::uint64_t cuts = 0;
                for (std::size_t i = 0; i < m_task.operands.size(); ++i) {
                    const RowUse use { m_task, m_axes.now, candidate.row, axis };
                    cuts |= static_cast<std::uint64_t>(use.to(i).sharded()) << i;
                }
                const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.cuts == cuts; });
                if (same == kinds.end())
                    kinds.push_back({ cuts, &candidate });
                else if (finite && candidate.cost < same->candidate->cost)
                    same->candidate = &candidate;
            }
            std::sort(kinds.begin(), kinds.end(), [](const Kind& a, const Kind& b) { return a.candidate->row < b.candidate->row; });
            m_kinds.push_back(std::move(kinds));
        }
        m_rows.assign(m_kinds.size(), 0);
        const std::vector<double> bytes(m_task.bytes.begin(), m_task.bytes.end());
        m_finite = finite;
        m_found = false;
        descend(0, bytes, 0);
    }

    void descend(std::size_t axis, const std::vector<double>& bytes, double cost)
    {
        if ((m_found && (!m_finite || cost >= m_bestCost)) || ++m_steps > kMostSteps)
            return;
        if (axis == m_kinds.size()) {
            double sum = 0;
            for (const double each : bytes)
                sum += each;
            if (sum <= *m_task.options.budgetBytesPerDevice) {
                m_found = true;
                m_best = m_rows;
                m_bestCost = cost;
            }
            return;
        }
        for (const Kind& kind : m_kinds[axis]) {
            std::vector<double> less = bytes;
            for (std::size_t i = 0; i < less.size(); ++i)
                if ((kind.cuts >> i & 1U) != 0)
                    less[i] /= static_cast<double>(m_task.mesh->axis(static_cast<int>(axis)).size);
            m_rows[axis] = static_cast<int>(kind.candidate->row);
            descend(axis + 1, less, m_finite ? cost + kind.candidate->cost : 0);
        }
    }

    static constexpr std::int64_t kMostSteps = 4'000'000;

    const PickTask& m_task;
    const Axes& m_axes;
    std::int64_t m_steps = 0;
    std::vector<std::vector<Kind>> m_kinds;
    std::vector<int> m_rows;
    std::vector<int> m_best;
    double m_bestCost = kInfiniteCost;
    bool m_finite = true;
    bool m_found = false;
    std::optional<std::pair<std::size_t, std::size_t>> m_only;
};

const char* scatters(const RowUse& use)
{
    if (use.task.options.allowPartialToSharded)
        return nullptr;
    for (std::size_t i = 0; i < use.task.operands.size(); ++i)
        if (use.from(i).partial() && use.to(i).sharded())
            return kNoScatter;
    return nullptr;
}

Refusal needsScatter()
{
    return { UpstreamError::RuntimeError, "policy.allow_partial_to_sharded",
             "every action reduces a partial value to shards (reduce-scatter), which is off",
             "set it to true, or reshard the operand first" };
}

PickAction actionPicked(const PickTask& task, const Axes& axes, std::vector<int> rows, PickTrace* trace)
{
    PickAction action = actionOf(task, axes.now, std::move(rows));
    markPicked(trace, action);
    return action;
}

PickAction greedyAction(const PickTask& task, const Axes& axes, std::vector<int> rows, PickTrace* trace)
{
    PickAction action = actionPicked(task, axes, std::move(rows), trace);
    if (trace != nullptr && action.cost == kInfiniteCost)
        trace->warning = "no action has a finite cost; the first one is taken, as MAX does, though no collective can do it";
    return action;
}

Picked withBudget(const PickTask& task, const Axes& axes, PickTrace* trace)
{
    BudgetSearch search(task, axes);
    if (trace != nullptr)
        for (std::size_t axis = 0; axis < axes.candidates.size(); ++axis)
            for (const Candidate& candidate : axes.candidates[axis]) {
                RowVerdict& verdict = trace->axes[axis][candidate.row];
                if (!search.fits(axis, candidate.row)) {
                    verdict.status = RowVerdict::Status::Refused;
                    verdict.why = "the operands would not fit the budget per device (budget_bytes_per_device)";
                }
            }
    const bool none = search.best(true).empty();
    std::vector<int> rows = search.best(false);
    if (search.gaveUp())
        return Refusal { UpstreamError::RuntimeError, "policy.budget_bytes_per_device",
                         "there are too many combinations of rows to find one that fits", "use fewer mesh axes or rows" };
    if (none)
        return Refusal { UpstreamError::RuntimeError, "policy.budget_bytes_per_device",
                         "every action exceeds the budget per device", "raise the budget, or cut the operands first" };
    if (rows.empty())
        return needsScatter();
    return greedyAction(task, axes, std::move(rows), trace);
}

Picked greedyReshard(const PickTask& task, PickTrace* trace)
{
    if (task.options.profile == PickerProfile::Shardboard)
        return pickInTurn(task, trace);
    const Axes axes = collect(task, trace, scatters);
    for (std::size_t axis = 0; axis < axes.candidates.size(); ++axis)
        if (axes.candidates[axis].empty())
            return noRow(task, axis, UpstreamError::RuntimeError);
    if (task.options.profile == PickerProfile::G0 && task.options.budgetBytesPerDevice)
        return withBudget(task, axes, trace);
    std::vector<int> rows;
    std::vector<int> first;
    for (const auto& candidates : axes.candidates) {
        const Candidate* best = nullptr;
        const Candidate* earliest = nullptr;
        for (const Candidate& candidate : candidates) {
            if (candidate.refused)
                continue;
            if (earliest == nullptr)
                earliest = &candidate;
            if (candidate.cost < (best ? best->cost : kInfiniteCost))
                best = &candidate;
        }
        if (earliest == nullptr)
            return needsScatter();
        first.push_back(static_cast<int>(earliest->row));
        if (best != nullptr)
            rows.push_back(static_cast<int>(best->row));
    }
    return greedyAction(task, axes, rows.size() == first.size() ? std::move(rows) : std::move(first), trace);
}

const char* moves(const RowUse& use) { return use.moves() ? "an operand would move, which NoReshard does not do" : nullptr; }

const char* movesMore(const RowUse& use)
{
    for (std::size_t i = 0; i < use.task.operands.size(); ++i)
        if (use.from(i) != use.to(i) && !(use.from(i).partial() && use.to(i).replicated()))
            return "PartialsOnly does nothing but reduce partial values to replicated ones";
    return nullptr;
}

/// The first action in order that a test on its rows allows, whatever it costs.
Picked firstAllowed(const PickTask& task, PickTrace* trace, const char* (*refuse)(const RowUse&), const char* reason)
{
    const Axes axes = collect(task, trace, refuse);
    std::vector<int> rows;
    std::vector<int> first;
    for (std::size_t axis = 0; axis < axes.candidates.size(); ++axis) {
        const auto& candidates = axes.candidates[axis];
        if (candidates.empty())
            return noRow(task, axis, UpstreamError::ShardingError);
        first.push_back(static_cast<int>(candidates.front().row));
        const auto allowed = std::find_if(candidates.begin(), candidates.end(), [](const Candidate& c) { return !c.refused; });
        if (allowed != candidates.end())
            rows.push_back(static_cast<int>(allowed->row));
    }
    const bool lenient = task.options.profile == PickerProfile::G0 && refuse == moves;
    if (rows.size() != first.size() && !lenient)
        return Refusal { UpstreamError::ShardingError, "picker", reason, "reshard the operands first, or take another picker" };
    return actionPicked(task, axes, rows.size() == first.size() ? std::move(rows) : std::move(first), trace);
}

Picked partialsOnly(const PickTask& task, PickTrace* trace)
{
    Picked picked = firstAllowed(task, trace, movesMore, "no action does nothing but reduce partial values to replicated ones");
    // an action that moves nothing comes before all others
    Picked still = firstAllowed(task, nullptr, moves, "");
    const auto* action = std::get_if<PickAction>(&still);
    if (action == nullptr || action->moved)
        return picked;
    if (trace != nullptr)
        for (auto& axis : trace->axes)
            for (RowVerdict& verdict : axis)
                if (verdict.status == RowVerdict::Status::Picked)
                    verdict.status = RowVerdict::Status::Allowed;
    markPicked(trace, *action);
    return still;
}

} // namespace

Picked pickRows(const PickTask& task, PickTrace* trace)
{
    const PickerProfile profile = task.options.profile;
    switch (task.options.picker) {
    case PickerKind::Greedy:
        if (hasRegions(profile))
            return autoReshard(task, trace);
        break;
    case PickerKind::None:
        return firstAllowed(task, trace, moves, "no action leaves every operand where it is");
    case PickerKind::PartialsOnly:
        return partialsOnly(task, trace);
    case PickerKind::AutoReshard:
        return autoReshard(task, trace);
    }
    return greedyReshard(task, trace);
}

} // namespace shardboard
