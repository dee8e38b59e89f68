// SPDX-License-Identifier: Apache-2.0
#include "model/picker/menu/executed.h"

#include <algorithm>

namespace shardboard {

namespace {

class Redistribution {
public:
    Redistribution(std::span<const Placement> from, std::span<const Placement> to, const Mesh& mesh)
        : m_now(from.begin(), from.end())
        , m_to(to.begin(), to.end())
        , m_mesh(mesh)
    {
    }

    /// Partial values first, in mesh order; then what is gathered, in reverse mesh order; then what is sliced, in mesh order.
    void byAxis()
    {
        const std::size_t axes = m_now.size();
        for (std::size_t axis = 0; axis < axes; ++axis) {
            if (!m_now[axis].partial() || m_now[axis] == m_to[axis])
                continue;
            const bool scatter = m_to[axis].sharded() && axesOf(m_now, m_to[axis].dim).empty();
            add(scatter ? "reduce_scatter" : "allreduce", { axis }, scatter ? std::optional<int>(m_to[axis].dim) : std::nullopt);
            m_now[axis] = scatter ? m_to[axis] : replicatedPlacement();
        }
        for (std::size_t axis = axes; axis-- > 0;) {
            if (!m_now[axis].sharded() || m_now[axis] == m_to[axis])
                continue;
            add("allgather", { axis }, m_now[axis].dim);
            m_now[axis] = replicatedPlacement();
        }
        for (std::size_t axis = 0; axis < axes; ++axis) {
            if (!m_now[axis].replicated() || !m_to[axis].sharded())
                continue;
            add("local_slice", { axis }, m_to[axis].dim);
            m_now[axis] = m_to[axis];
        }
    }

    /// Mesh axes that do the same together.
    void fused()
    {
        for (std::size_t axis = 0; axis < m_now.size(); ++axis)
            if (m_mesh.axis(static_cast<int>(axis)).size == 1) {
                // nothing happens on a mesh axis of one device: it neither cuts nor reduces
                m_now[axis] = replicatedPlacement();
                m_to[axis] = replicatedPlacement();
            }
        reduce([](const Placement& to) { return to.replicated(); });
        for (const int dim : dims())
            scatter(dim);
        reduce([](const Placement& to) { return to.sharded(); });
        for (const int dim : dims()) {
            const auto now = axesOf(m_now, dim);
            const std::vector<std::size_t> extra(now.begin() + static_cast<std::ptrdiff_t>(common(dim)), now.end());
            if (extra.empty())
                continue;
            add("allgather", extra, dim);
            for (const std::size_t axis : extra)
                m_now[axis] = replicatedPlacement();
        }
        for (const int dim : dims()) {
            const auto to = axesOf(m_to, dim);
            const std::vector<std::size_t> extra(to.begin() + static_cast<std::ptrdiff_t>(common(dim)), to.end());
            if (extra.empty())
                continue;
            add("local_slice", extra, dim);
            for (const std::size_t axis : extra)
                m_now[axis] = m_to[axis];
        }
        std::vector<std::size_t> kept;
        for (std::size_t axis = 0; axis < m_now.size(); ++axis)
            if (m_now[axis].replicated() && m_to[axis].partial())
                kept.push_back(axis);
        if (!kept.empty())
            add("keep_one_copy", kept, std::nullopt);
    }

    std::vector<ExecutedStep> steps;

private:
    static std::vector<std::size_t> axesOf(const std::vector<Placement>& placements, int dim)
    {
        std::vector<std::size_t> out;
        for (std::size_t axis = 0; axis < placements.size(); ++axis)
            if (placements[axis].shards(dim))
                out.push_back(axis);
        return out;
    }
    std::vector<int> dims() const
    {
        std::vector<int> out;
        for (const auto* side : { &m_now, &m_to })
            for (const Placement& p : *side)
                if (p.sharded())
                    out.push_back(p.dim);
        std::sort(out.begin(), out.end());
        out.erase(std::unique(out.begin(), out.end()), out.end());
        return out;
    }
    /// How many leading mesh axes of a dim stay.
    std::size_t common(int dim) const
    {
        const auto now = axesOf(m_now, dim);
        const auto to = axesOf(m_to, dim);
        std::size_t n = 0;
        while (n < now.size() && n < to.size() && now[n] == to[n])
            ++n;
        return n;
    }
    template <class Wanted>
    void reduce(Wanted wanted)
    {
        std::vector<std::size_t> axes;
        for (std::size_t axis = 0; axis < m_now.size(); ++axis)
            if (m_now[axis].partial() && wanted(m_to[axis]))
                axes.push_back(axis);
        if (axes.empty())
            return;
        add("allreduce", axes, std::nullopt);
        for (const std::size_t axis : axes)
            m_now[axis] = replicatedPlacement();
    }
    void scatter(int dim)
    {
        const auto now = axesOf(m_now, dim);
        const auto to = axesOf(m_to, dim);
        if (common(dim) != now.size() || to.size() == now.size())
            return;
        const std::vector<std::size_t> extra(to.begin() + static_cast<std::ptrdiff_t>(now.size()), to.end());
        if (!std::all_of(extra.begin(), extra.end(), [&](std::size_t axis) { return m_now[axis].partial(); }))
            return;
        add("reduce_scatter", extra, dim);
        for (const std::size_t axis : extra)
            m_now[axis] = m_to[axis];
    }
    void add(const char* op, const std::vector<std::size_t>& axes, std::optional<int> dim)
    {
        ExecutedStep step { op, {}, dim };
        for (const std::size_t axis : axes)
            step.meshAxes.push_back(static_cast<int>(axis));
        steps.push_back(std::move(step));
    }

    std::vector<Placement> m_now;
    std::vector<Placement> m_to;
    const Mesh& m_mesh;
};

} // namespace

std::variant<std::vector<ExecutedStep>, Refusal> executedSteps(PickerProfile profile, std::span<const Placement> from,
                                                               std::span<const Placement> to, const Mesh& mesh)
{
    const auto refuse = [&](std::size_t axis) {
        return Refusal { UpstreamError::NotImplementedError, "",
                         "nothing turns " + from[axis].code() + " into " + to[axis].code() + " on mesh axis '"
                             + mesh.axis(static_cast<int>(axis)).name + "'",
                         "" };
    };
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
        if (from[axis] == to[axis] || (!isEarly(profile) && mesh.axis(static_cast<int>(axis)).size == 1))
            continue;
        const bool extremum = from[axis].partial()
            && (from[axis].reduce == PartialReduce::Min || from[axis].reduce == PartialReduce::Max)
            && profile != PickerProfile::Shardboard;
        const bool keepsOne = !isEarly(profile) && from[axis].replicated() && to[axis] == partialPlacement();
        if (from[axis].unknown() || to[axis].unknown() || extremum || (to[axis].partial() && !keepsOne))
            return refuse(axis);
    }
    Redistribution out(from, to, mesh);
    if (isEarly(profile))
        out.byAxis();
    else
        out.fused();
    return std::move(out.steps);
}

} // namespace shardboard
