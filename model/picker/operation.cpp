// SPDX-License-Identifier: Apache-2.0
#include "model/picker/operation.h"

#include "model/core/checked.h"
#include "model/picker/pickaction.h"

#include <algorithm>

namespace shardboard {

namespace {

/// The place of `axis` among the attributes, when the family can do without it and nobody has given it.
std::optional<std::size_t> missingAxis(const PickQuestion& question)
{
    if (question.family == nullptr || !question.family->flattens)
        return std::nullopt;
    for (std::size_t i = 0; i < question.family->attributes.size(); ++i)
        if (std::string_view(question.family->attributes[i].name) == "axis" && question.attributes[i].none)
            return i;
    return std::nullopt;
}

class Operation {
public:
    explicit Operation(const PickQuestion& question)
        : m_question(question)
        , m_early(isEarly(question.options.profile))
    {
    }

    PickAnswer answer()
    {
        if (m_question.family && m_question.family->note)
            m_answer.notes.emplace_back(m_question.family->note);
        if (auto refusal = makeMenu()) {
            m_answer.refusal = std::move(refusal);
            return std::move(m_answer);
        }
        for (const PickOperand& operand : m_question.operands)
            m_answer.bytes.push_back(countedBytes(m_question.options.profile, operand, m_question.mesh));
        m_task = { m_question.options, &m_menu, m_question.operands, m_answer.bytes, &m_question.mesh };
        if (m_early && m_question.fallbackRow)
            m_menu = withFallback(m_task);
        PickTrace trace;
        auto picked = pickRows(m_task, &trace);
        if (auto* refusal = std::get_if<Refusal>(&picked))
            m_answer.refusal = std::move(*refusal);
        else
            m_answer.action = std::move(std::get<PickAction>(picked));
        addCandidates(trace);
        if (!m_answer.refusal) {
            m_answer.moved = m_answer.action.moved;
            for (std::size_t i = 0; i < m_question.operands.size(); ++i)
                for (std::size_t axis = 0; axis < axes(); ++axis)
                    addMove(m_answer.collectives, i, axis, m_question.operands[i].placements[axis], m_answer.action.input(i)[axis]);
            checkOutcome();
            if (!trace.warning.empty())
                m_answer.notes.push_back(trace.warning);
        }
        return std::move(m_answer);
    }

private:
    std::size_t axes() const { return static_cast<std::size_t>(m_question.mesh.axisCount()); }

    std::optional<Refusal> makeMenu()
    {
        for (std::size_t i = 0; i < m_question.operands.size(); ++i) {
            const auto& operand = m_question.operands[i];
            for (const Placement& p : operand.placements)
                if (p.sharded() && m_question.symbols.algebraic(operand.shape[static_cast<std::size_t>(p.dim)]))
                    return Refusal { UpstreamError::ShardingError, "inputs[" + std::to_string(i) + "].placements",
                                     "a sum or product of names cannot be cut",
                                     "cut another dim, or give the size a name of its own" };
        }
        if (m_question.family == nullptr) {
            m_menu = m_question.rows;
            if (m_menu.rows.empty() && (!m_early || !m_question.fallbackRow))
                return Refusal { UpstreamError::ShardingError, "rows", "the list of rows is empty", "give at least one row" };
            return std::nullopt;
        }
        auto menu =
            expandMenu(*m_question.family, m_question.operands, m_question.attributes, m_question.mesh, m_question.options.profile);
        if (auto* refusal = std::get_if<Refusal>(&menu))
            return std::move(*refusal);
        m_menu = std::move(std::get<Menu>(menu));
        if (m_question.options.profile == PickerProfile::Shardboard)
            dropAlgebraic();
        return std::nullopt;
    }

    /// Our own rows never cut what cannot be cut.
    void dropAlgebraic()
    {
        std::erase_if(m_menu.rows, [&](const Row& row) { return cutsAlgebraic([&](std::size_t i) { return row.operands[i]; }); });
    }
    template <class PlacementOf>
    bool cutsAlgebraic(PlacementOf of) const
    {
        for (std::size_t i = 0; i < m_question.operands.size(); ++i) {
            const Placement p = of(i);
            const Shape& shape = m_question.operands[i].shape;
            if (p.sharded() && p.dim < static_cast<int>(shape.size())
                && m_question.symbols.algebraic(shape[static_cast<std::size_t>(p.dim)]))
                return true;
        }
        return false;
    }

    /// What MAX finds out only when it carries the pick out, and the policy on what moves.
    void checkOutcome()
    {
        for (std::size_t axis = 0; axis < axes(); ++axis) {
            if (cutsAlgebraic([&](std::size_t i) { return m_answer.action.input(i)[axis]; })) {
                m_answer.refusal = Refusal { UpstreamError::ShardingError, "inputs",
                                             "the pick cuts a size that is a sum or product of names, which cannot be cut",
                                             "give the size a name of its own" };
                return;
            }
            const Placement& output = m_answer.action.output[axis];
            const auto& bare = m_menu.bareNames;
            if (output.sharded() && std::find(bare.begin(), bare.end(), output.dim) != bare.end()) {
                m_answer.refusal = Refusal { UpstreamError::ValueError, "attrs.shape",
                                             "dim " + std::to_string(output.dim)
                                                 + " of the target is a bare name and is cut: no names are made up for its parts",
                                             "write \"dim of input axis N\" for it" };
                return;
            }
        }
        if (m_answer.moved && m_question.options.onReshard == OnReshard::Raise
            && (m_question.options.picker == PickerKind::Greedy || m_question.options.picker == PickerKind::AutoReshard)) {
            const bool region = m_question.options.picker == PickerKind::AutoReshard;
            m_answer.refusal =
                Refusal { UpstreamError::ShardingError, region ? "policy.mode" : "policy.on_reshard",
                          "the chosen rows move an operand and the mode is raise", "reshard it first, or use mode silent" };
        }
    }

    void addMove(std::vector<PickedMove>& moves, std::size_t operand, std::size_t axis, const Placement& from,
                 const Placement& to) const
    {
        if (from == to)
            return;
        const double bytes = m_answer.bytes[operand];
        const std::int64_t n = m_question.mesh.axis(static_cast<int>(axis)).size;
        moves.push_back({ operand, static_cast<int>(axis), from, to, transitionName(m_question.options.profile, from, to), bytes,
                          transitionPrice(m_task.prices(), from, to, bytes, n) });
    }

    bool isThereBefore(std::size_t row) const
    {
        const Row& it = m_menu.rows[row];
        return std::any_of(m_menu.rows.begin(), m_menu.rows.begin() + static_cast<std::ptrdiff_t>(row), [&](const Row& other) {
            return other.result == it.result && other.resultOf == it.resultOf && other.kept == it.kept
                && other.operands == it.operands;
        });
    }

    void addCandidates(const PickTrace& trace)
    {
        const std::vector<Placement> now = placementsNow(m_task);
        for (std::size_t axis = 0; axis < trace.axes.size(); ++axis) {
            std::vector<PickCandidate> list;
            for (std::size_t row = 0; row < m_menu.rows.size(); ++row) {
                const RowVerdict& verdict = trace.axes[axis][row];
                if (m_menu.rows[row].fallback && m_question.options.picker == PickerKind::AutoReshard && isThereBefore(row))
                    continue; // a region looks at distinct rows
                const RowUse use { m_task, now, row, axis };
                PickCandidate candidate;
                candidate.meshAxis = static_cast<int>(axis);
                candidate.output = use.result();
                candidate.cost = verdict.cost;
                candidate.status = verdict.status;
                candidate.why = verdict.why;
                candidate.moves = verdict.moves;
                candidate.fallback = m_menu.rows[row].fallback;
                for (std::size_t i = 0; i < m_question.operands.size(); ++i) {
                    candidate.inputs.push_back(use.to(i));
                    if (verdict.status != RowVerdict::Status::Infeasible)
                        addMove(candidate.collectives, i, axis, use.from(i), use.to(i));
                }
                if (m_menu.soundKnown) {
                    candidate.unsoundBecause = use.unsound();
                    candidate.sound = candidate.unsoundBecause == nullptr;
                }
                list.push_back(std::move(candidate));
            }
            using Status = RowVerdict::Status;
            std::stable_sort(list.begin(), list.end(), [&](const PickCandidate& a, const PickCandidate& b) {
                const bool lastA = a.status == Status::Infeasible;
                const bool lastB = b.status == Status::Infeasible;
                if (lastA != lastB)
                    return lastB;
                if (lastA)
                    return false;
                if (a.cost != b.cost)
                    return a.cost < b.cost;
                return !m_early && a.moves < b.moves;
            });
            m_answer.candidates.insert(m_answer.candidates.end(), std::make_move_iterator(list.begin()),
                                       std::make_move_iterator(list.end()));
        }
    }

    const PickQuestion& m_question;
    bool m_early;
    Menu m_menu;
    PickTask m_task;
    PickAnswer m_answer;
};

/// An operation without an axis: reshape(-1), then the operation along dim 0 of what comes out.
PickAnswer pickFlattened(const PickQuestion& question, std::size_t axis)
{
    PickQuestion flatten = question;
    flatten.family = findFamily("reshape");
    flatten.attributes = { { .dims = { { kWildcard, {} } } } };
    PickAnswer first = pickOperation(flatten);
    if (first.refusal)
        return first;
    PickQuestion along = question;
    along.attributes[axis] = {};
    auto& operand = along.operands.front();
    std::int64_t size = 1;
    for (const std::int64_t each : operand.shape) {
        if (!isStatic(each) || size < 0)
            size = operand.shape.size() == 1 ? each : kWildcard;
        else
            size = checkedMultiply(size, each).value_or(kWildcard);
    }
    operand.shape = { size };
    operand.placements = first.action.output;
    PickAnswer out = pickOperation(along);
    out.notes.insert(out.notes.begin(),
                     "without an axis the operand is reshaped to one dim first; cost and collectives are those of both steps");
    out.action.cost += first.action.cost;
    out.moved = out.moved || first.moved;
    out.collectives.insert(out.collectives.begin(), first.collectives.begin(), first.collectives.end());
    return out;
}

} // namespace

PickAnswer pickOperation(const PickQuestion& question)
{
    if (const auto axis = missingAxis(question))
        return pickFlattened(question, *axis);
    return Operation(question).answer();
}

} // namespace shardboard
