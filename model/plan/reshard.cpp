// SPDX-License-Identifier: Apache-2.0
#include "model/plan/reshard.h"

#include "model/core/shards.h"

#include <algorithm>
#include <array>

namespace shardboard {

namespace {

constexpr std::array<const char*, 7> kNames { "all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                              "send-recv", "broadcast", "local-slice" };

using AxisList = std::vector<AxisRef>;

bool contains(const AxisList& list, const AxisRef& ref) { return std::find(list.begin(), list.end(), ref) != list.end(); }

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

class Resharder {
public:
    Resharder(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh)
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

    /// Balanced parts over a list of axes lie inside the parts over a leading part of the list only when the dim divides.
    bool nests(std::size_t dim, const AxisList& list) const { return m_shape[dim] % partsOf(list, m_mesh) == 0; }

    bool same(std::size_t dim) const
    {
        return m_now.dims[dim] == m_to.dims[dim] && m_now.cuttingOf(dim) == m_to.cuttingOf(dim);
    }

    /// Parts of another rule than the balanced one fit no other parts.
    bool uneven(std::size_t dim) const
    {
        return m_now.cuttingOf(dim) != Cutting {} || m_to.cuttingOf(dim) != Cutting {};
    }

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

bool usesSubAxes(const Layout& layout)
{
    const auto any = [](const AxisList& list) {
        return std::any_of(list.begin(), list.end(), [](const AxisRef& ref) { return !ref.whole(); });
    };
    return any(layout.partial) || std::any_of(layout.dims.begin(), layout.dims.end(), any);
}

} // namespace

std::string collectiveName(CollectiveKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<CollectiveKind> collectiveFromName(std::string_view name)
{
    for (std::size_t i = 0; i < kNames.size(); ++i)
        if (name == kNames[i])
            return static_cast<CollectiveKind>(i);
    return std::nullopt;
}

Result<std::vector<ReshardStep>> reshardSteps(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh,
                                              const std::string& where)
{
    if (from == to)
        return std::vector<ReshardStep> {};
    if (usesSubAxes(from) || usesSubAxes(to))
        return inputError(where, "its layout uses a sub-axis, which cannot be planned yet",
                          "split the mesh axis into two axes instead");
    for (const AxisRef& ref : to.partial)
        if (!contains(from.partial, ref))
            return inputError(where, "a value that is not partial over '" + mesh.axis(ref.axis).name
                                  + "' cannot be made partial",
                              "choose a layout without it");
    return Resharder(from, to, shape, mesh).steps();
}

std::int64_t stepBytes(const ReshardStep& step, const Shape& shape, DType dtype, const Mesh& mesh)
{
    if (step.kind == CollectiveKind::LocalSlice)
        return 0;
    const Layout& layout = step.kind == CollectiveKind::AllGather ? step.after : step.before;
    std::int64_t elements = 1;
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
        elements *= largestPart(shape[dim], layout.dims[dim], mesh, layout.cuttingOf(dim));
    return bytesOf(elements, dtype);
}

} // namespace shardboard
