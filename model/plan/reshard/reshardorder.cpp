// SPDX-License-Identifier: Apache-2.0
#include "model/plan/reshard/reshardorder.h"

#include "model/core/shards.h"
#include "model/text/contains.h"

#include <algorithm>

namespace shardboard {

namespace {

using AxisList = std::vector<AxisRef>;

bool isPrefix(const AxisList& prefix, const AxisList& list)
{
    return prefix.size() <= list.size() && std::equal(prefix.begin(), prefix.end(), list.begin());
}

std::vector<int> axisNumbers(const AxisList& refs)
{
    std::vector<int> axes;
    for (const AxisRef& ref : refs)
        axes.push_back(ref.axis);
    return axes;
}

class FixedOrder {
public:
    FixedOrder(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh)
        : m_now(from)
        , m_to(to)
        , m_shape(shape)
        , m_mesh(mesh)
    {
    }

    std::vector<ReshardStep> steps()
    {
        for (std::size_t dim = 0; dim < m_shape.size(); ++dim)
            reduceScatter(dim);
        allReduce();
        for (std::size_t dim = 0; dim < m_shape.size(); ++dim)
            allToAll(dim);
        for (std::size_t dim = 0; dim < m_shape.size(); ++dim)
            allGather(dim);
        for (std::size_t dim = 0; dim < m_shape.size(); ++dim)
            slice(dim);
        return std::move(m_steps);
    }

private:
    void step(CollectiveKind kind, const AxisList& axes, const Layout& after)
    {
        m_steps.push_back({ kind, axisNumbers(axes), m_now, after });
        m_now = after;
    }

    /// Whether the parts over a list of axes lie inside the parts over any leading part of it.
    bool nests(std::size_t dim, const AxisList& list) const { return partsNest(m_shape[dim], partsOf(list, m_mesh)); }

    bool same(std::size_t dim) const { return m_now.dims[dim] == m_to.dims[dim] && m_now.cuttingOf(dim) == m_to.cuttingOf(dim); }

    /// Parts of another rule than the balanced one fit no other parts.
    bool uneven(std::size_t dim) const { return m_now.cuttingOf(dim) != Cutting {} || m_to.cuttingOf(dim) != Cutting {}; }

    /// How many leading axes of a dim can stay where they are.
    std::size_t commonPrefix(std::size_t dim) const
    {
        const AxisList& now = m_now.dims[dim];
        const AxisList& to = m_to.dims[dim];
        if (same(dim))
            return now.size();
        if (uneven(dim))
            return 0;
        std::size_t prefix = 0;
        while (prefix < now.size() && prefix < to.size() && now[prefix] == to[prefix])
            ++prefix;
        return nests(dim, now) && nests(dim, to) ? prefix : 0;
    }

    void reduceScatter(std::size_t dim)
    {
        const AxisList& now = m_now.dims[dim];
        const AxisList& to = m_to.dims[dim];
        if (!isPrefix(now, to) || (!now.empty() && (!nests(dim, to) || uneven(dim))))
            return;
        AxisList run;
        for (std::size_t i = now.size(); i < to.size() && contains(m_now.partial, to[i]); ++i)
            run.push_back(to[i]);
        // A run that ends before the list does would be cut again by the rest, which must nest then.
        if (run.empty() || (now.size() + run.size() < to.size() && (!nests(dim, to) || uneven(dim))))
            return;
        Layout after = m_now;
        after.dims[dim].insert(after.dims[dim].end(), run.begin(), run.end());
        after.setCutting(dim, m_to.cuttingOf(dim));
        std::erase_if(after.partial, [&](const AxisRef& ref) { return contains(run, ref); });
        if (after.partial.empty())
            after.op = ReduceOp::Sum;
        step(CollectiveKind::ReduceScatter, run, after);
    }

    void allReduce()
    {
        AxisList run;
        for (const AxisRef& ref : m_now.partial)
            if (!contains(m_to.partial, ref))
                run.push_back(ref);
        if (run.empty())
            return;
        Layout after = m_now;
        std::erase_if(after.partial, [&](const AxisRef& ref) { return contains(run, ref); });
        if (after.partial.empty())
            after.op = ReduceOp::Sum;
        step(CollectiveKind::AllReduce, run, after);
    }

    /// Axes that leave one dim together and are appended to another one: no need to gather anything.
    void allToAll(std::size_t dim)
    {
        const std::size_t prefix = commonPrefix(dim);
        const AxisList& now = m_now.dims[dim];
        const AxisList run(now.begin() + static_cast<std::ptrdiff_t>(prefix), now.end());
        if (run.empty())
            return;
        for (std::size_t other = 0; other < m_shape.size(); ++other) {
            const AxisList& kept = m_now.dims[other];
            AxisList longer = kept;
            longer.insert(longer.end(), run.begin(), run.end());
            if (other == dim || !isPrefix(longer, m_to.dims[other]))
                continue;
            if ((!kept.empty() || longer != m_to.dims[other]) && (!nests(other, m_to.dims[other]) || uneven(other)))
                continue;
            Layout after = m_now;
            after.dims[dim].resize(prefix);
            after.setCutting(dim, {});
            after.dims[other] = longer;
            after.setCutting(other, m_to.cuttingOf(other));
            step(CollectiveKind::AllToAll, run, after);
            return;
        }
    }

    void allGather(std::size_t dim)
    {
        const std::size_t prefix = commonPrefix(dim);
        const AxisList& now = m_now.dims[dim];
        const AxisList run(now.begin() + static_cast<std::ptrdiff_t>(prefix), now.end());
        if (run.empty())
            return;
        Layout after = m_now;
        after.dims[dim].resize(prefix);
        after.setCutting(dim, {});
        step(CollectiveKind::AllGather, run, after);
    }

    void slice(std::size_t dim)
    {
        const AxisList& now = m_now.dims[dim];
        const AxisList& to = m_to.dims[dim];
        if (same(dim))
            return;
        const AxisList run(to.begin() + static_cast<std::ptrdiff_t>(now.size()), to.end());
        Layout after = m_now;
        after.dims[dim] = to;
        after.setCutting(dim, m_to.cuttingOf(dim));
        step(CollectiveKind::LocalSlice, run, after);
    }

    Layout m_now;
    const Layout& m_to;
    const Shape& m_shape;
    const Mesh& m_mesh;
    std::vector<ReshardStep> m_steps;
};

} // namespace

std::vector<ReshardStep> stepsInFixedOrder(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh)
{
    return FixedOrder(from, to, shape, mesh).steps();
}

} // namespace shardboard
