// SPDX-License-Identifier: Apache-2.0
#include "model/picker/report.h"

#include "model/text/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace shardboard {

namespace {

using Status = RowVerdict::Status;

/// As Python's general format.
std::string numberText(double value)
{
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, value == std::floor(value) && std::abs(value) < 1e15 ? "%.0f" : "%g", value);
    return std::isinf(value) ? "inf" : buffer;
}

std::string codes(std::span<const Placement> placements)
{
    std::vector<std::string> out;
    for (const Placement& p : placements)
        out.push_back(p.code());
    return joined(out);
}

std::string longName(const Placement& p)
{
    switch (p.kind) {
    case Placement::Kind::Replicated:
        return "Replicated()";
    case Placement::Kind::Sharded:
        return "Sharded(" + std::to_string(p.dim) + ")";
    case Placement::Kind::Partial:
        return "Partial()";
    case Placement::Kind::Unknown:
        return "Unknown()";
    }
    return {};
}

/// Columns of the same width.
std::string aligned(const std::vector<std::vector<std::string>>& rows, const std::string& indent)
{
    std::vector<std::size_t> widths;
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths.resize(std::max(widths.size(), i + 1));
            widths[i] = std::max(widths[i], row[i].size());
        }
    std::string out;
    for (const auto& row : rows) {
        std::string line = indent;
        for (std::size_t i = 0; i < row.size(); ++i)
            line += row[i] + (i + 1 < row.size() ? std::string(widths[i] - row[i].size() + 2, ' ') : "");
        out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return out;
}

class Report {
public:
    Report(const PickQuestion& question, const PickAnswer& answer)
        : m_question(question)
        , m_answer(answer)
    {
    }

    std::string early() const
    {
        std::string out = "\n" + m_question.opName + "\n" + callSite() + "  mesh " + m_question.mesh.text() + "\n";
        for (const std::size_t i : movedOperands()) {
            const auto& operand = m_question.operands[i];
            out += "  operand " + std::to_string(i) + " '" + operand.name + "' " + shapeOf(i) + ": [" + codes(operand.placements)
                + "], needs [" + codes(m_answer.action.input(i)) + "]\n";
            for (const PickedMove& move : m_answer.collectives)
                if (move.operand == i)
                    out += "    " + axisName(move.meshAxis) + ": " + move.from.code() + " -> " + move.to.code() + " ["
                        + move.collective + "]\n";
        }
        for (int axis = 0; axis < m_question.mesh.axisCount(); ++axis)
            out += cheapest(axis);
        out += transfers();
        const auto mode = [&](OnReshard which, const char* name) {
            return (m_question.options.onReshard == which ? "[" + std::string(name) + "]" : std::string(name));
        };
        out += "on_reshard: " + mode(OnReshard::Silent, "silent") + " | " + mode(OnReshard::Warn, "warn") + " | "
            + mode(OnReshard::Raise, "raise") + "\n";
        return out + beyond();
    }

    std::string late() const
    {
        std::string out = headline() + "\n";
        for (std::size_t i = 0; i < m_question.operands.size(); ++i) {
            const auto& operand = m_question.operands[i];
            out += "  " + operand.name + ": " + dtypeName(operand.dtype) + shapeOf(i) + " on " + m_question.mesh.text() + ", "
                + byName(operand.placements) + "\n";
        }
        if (m_question.options.picker == PickerKind::AutoReshard)
            out += "  region: allowed_transitions=" + m_question.options.allowedTransitions.text() + ", mode=" + modeName() + "\n";
        out += table();
        if (m_answer.refusal == std::nullopt || m_answer.moved)
            for (std::size_t i = 0; i < m_question.operands.size() && !m_answer.action.rows.empty(); ++i)
                out += "  " + m_question.operands[i].name + " -> " + byName(m_answer.action.input(i)) + "\n";
        out += transfers();
        if (m_question.options.picker == PickerKind::AutoReshard)
            out += "  region to use: " + region() + "\n";
        return out + callSite();
    }

private:
    std::string axisName(int axis) const { return m_question.mesh.axis(axis).name; }
    std::string callSite() const { return m_question.callSite.empty() ? "" : "  at " + m_question.callSite + "\n"; }
    std::string shapeOf(std::size_t operand) const
    {
        std::vector<std::string> sizes;
        for (const std::int64_t size : m_question.operands[operand].shape)
            sizes.push_back(m_question.symbols.text(size));
        return "[" + joined(sizes) + "]";
    }
    std::string byName(std::span<const Placement> placements) const
    {
        std::vector<std::string> out;
        for (std::size_t axis = 0; axis < placements.size(); ++axis)
            out.push_back(axisName(static_cast<int>(axis)) + ": " + placements[axis].code());
        return "{" + joined(out) + "}";
    }
    const char* modeName() const
    {
        constexpr const char* kNames[] = { "\"silent\"", "\"warn\"", "\"raise\"" };
        return kNames[static_cast<std::size_t>(m_question.options.onReshard)];
    }
    std::vector<std::size_t> movedOperands() const
    {
        std::vector<std::size_t> out;
        for (const PickedMove& move : m_answer.collectives)
            if (out.empty() || out.back() != move.operand)
                out.push_back(move.operand);
        return out;
    }
    std::string names(const std::vector<std::size_t>& operands) const
    {
        std::vector<std::string> out;
        for (const std::size_t i : operands)
            out.push_back(m_question.operands[i].name);
        return joined(out);
    }

    /// The three cheapest rows of a mesh axis by price alone, as MAX lists them. It calls the first of them picked even where
    /// the picker refused that row.
    std::string cheapest(int axis) const
    {
        std::string out = "  " + axisName(axis) + " (" + std::to_string(m_question.mesh.axis(axis).size) + " devices)\n";
        std::vector<std::vector<std::string>> rows;
        std::size_t more = 0;
        for (const PickCandidate& candidate : m_answer.candidates) {
            if (candidate.meshAxis != axis || candidate.status == Status::Infeasible)
                continue;
            constexpr std::size_t kShown = 3;
            if (rows.size() == kShown) {
                ++more;
                continue;
            }
            std::string label = candidate.status == Status::Picked ? "picked" : "#" + std::to_string(rows.size() + 1);
            if (rows.empty() && candidate.status != Status::Picked)
                label += " (MAX calls it picked)";
            rows.push_back({ std::move(label), numberText(candidate.cost), "(" + codes(candidate.inputs) + ")",
                             "-> " + candidate.output.code() });
        }
        return out + aligned(rows, "    ") + (more > 0 ? "    and " + std::to_string(more) + " more\n" : "");
    }

    std::string beyond() const
    {
        std::string out = "all rows, as they were judged:\n";
        return out + table();
    }

    std::string headline() const
    {
        std::string operands;
        for (const auto& operand : m_question.operands)
            operands += (operands.empty() ? "" : ", ") + operand.name;
        std::string out = m_question.opName + "(" + operands + "): ";
        if (!m_answer.moved && m_answer.refusal)
            return out + m_answer.refusal->reason;
        if (!m_answer.refusal || m_question.options.onReshard != OnReshard::Raise)
            return out + "reshards " + names(movedOperands());
        return out + "needs a resharding of " + names(movedOperands()) + ", but the region does not do so";
    }

    std::string statusText(const PickCandidate& candidate) const
    {
        switch (candidate.status) {
        case Status::Picked: {
            std::vector<std::size_t> moved;
            for (const PickedMove& move : candidate.collectives)
                moved.push_back(move.operand);
            return moved.empty() ? "chosen" : "chosen, reshards " + names(moved);
        }
        case Status::Refused:
            return "not allowed: " + candidate.why;
        case Status::Infeasible:
            return "not possible: " + candidate.why;
        case Status::Allowed:
            break;
        }
        return {};
    }

    std::string table() const
    {
        std::vector<std::vector<std::string>> rows { { "axis" } };
        for (const auto& operand : m_question.operands)
            rows[0].push_back(operand.name);
        rows[0].insert(rows[0].end(), { "output", "collectives", "bytes", "status" });
        for (const PickCandidate& candidate : m_answer.candidates) {
            std::vector<std::string> row { axisName(candidate.meshAxis) };
            for (std::size_t i = 0; i < candidate.inputs.size(); ++i) {
                const Placement& from = m_question.operands[i].placements[static_cast<std::size_t>(candidate.meshAxis)];
                const Placement& to = candidate.inputs[i];
                row.push_back(from == to ? to.code() : from.code() + "->" + to.code());
            }
            row.push_back(candidate.output.code());
            std::vector<std::string> collectives;
            for (const PickedMove& move : candidate.collectives)
                collectives.push_back(std::string(move.collective) + " " + m_question.operands[move.operand].name);
            const bool possible = candidate.status != Status::Infeasible;
            row.push_back(!possible ? "" : collectives.empty() ? "keep" : joined(collectives));
            row.push_back(possible ? numberText(candidate.cost) : "");
            std::string status = statusText(candidate);
            if (candidate.unsoundBecause)
                status += (status.empty() ? "" : "; ") + std::string("computes the wrong thing: ") + candidate.unsoundBecause;
            row.push_back(status);
            rows.push_back(std::move(row));
        }
        return aligned(rows, "  ");
    }

    /// The explicit reshard to write.
    std::string transfers() const
    {
        std::string out;
        const char* mapping = m_question.options.profile == PickerProfile::G0 ? "PlacementMapping" : "DeviceMapping";
        for (const std::size_t i : movedOperands()) {
            std::vector<std::string> placements;
            for (const Placement& p : m_answer.action.input(i))
                placements.push_back(longName(p));
            const std::string& name = m_question.operands[i].name;
            out += "  write: " + name + " = transfer_to(" + name + ", " + mapping + "(mesh, (" + joined(placements)
                + (placements.size() == 1 ? ",)))\n" : ")))\n");
        }
        return out;
    }

    std::string region() const
    {
        const auto cheaperRefused = [&] {
            for (const PickCandidate& picked : m_answer.candidates)
                if (picked.status == Status::Picked)
                    for (const PickCandidate& other : m_answer.candidates)
                        if (other.meshAxis == picked.meshAxis && other.status == Status::Refused && other.cost < picked.cost)
                            return true;
            return false;
        };
        if (m_answer.refusal && !m_answer.moved) {
            TransitionSet wider = m_question.options.allowedTransitions;
            for (int axis = 0; axis < m_question.mesh.axisCount(); ++axis)
                for (const PickCandidate& candidate : m_answer.candidates)
                    if (candidate.meshAxis == axis && candidate.status != Status::Infeasible) {
                        for (const PickedMove& move : candidate.collectives)
                            wider.add(move.from.kind, move.to.kind);
                        break;
                    }
            return "auto_reshard(allowed_transitions=" + wider.text() + ", mode=\"silent\")";
        }
        return cheaperRefused() ? "auto_reshard(allowed_transitions=ALL_TRANSITIONS, mode=\"silent\")"
                                : "auto_reshard(mode=\"silent\")";
    }

    const PickQuestion& m_question;
    const PickAnswer& m_answer;
};

} // namespace

std::string pickReport(const PickQuestion& question, const PickAnswer& answer)
{
    if (answer.candidates.empty() || (!answer.moved && !answer.refusal))
        return {};
    const Report report(question, answer);
    return isEarly(question.options.profile) && question.options.picker != PickerKind::AutoReshard ? report.early() : report.late();
}

} // namespace shardboard
