// SPDX-License-Identifier: Apache-2.0
#include "model/plan/reshard/reshard.h"

#include "model/core/shards.h"
#include "model/plan/reshard/reshardorder.h"
#include "model/text/contains.h"

#include <algorithm>

namespace shardboard {

namespace {

using AxisList = std::vector<AxisRef>;

bool usesSubAxes(const Layout& layout)
{
    const auto any = [](const AxisList& list) {
        return std::ranges::any_of(list, [](const AxisRef& ref) { return !ref.whole(); });
    };
    return any(layout.partial) || std::ranges::any_of(layout.dims, any);
}

/// Mesh axes of one device that a layout names. All placements on them are the same thing.
std::vector<int> trivialAxes(const Layout& layout, const Mesh& mesh)
{
    std::vector<int> axes;
    const auto add = [&](const AxisList& list) {
        for (const AxisRef& ref : list)
            if (mesh.axis(ref.axis).size == 1)
                axes.push_back(ref.axis);
    };
    add(layout.partial);
    std::ranges::for_each(layout.dims, add);
    return axes;
}

Layout withoutTrivialAxes(Layout layout, const Mesh& mesh)
{
    const auto trivial = [&](const AxisRef& ref) { return mesh.axis(ref.axis).size == 1; };
    std::erase_if(layout.partial, trivial);
    for (AxisList& dim : layout.dims)
        std::erase_if(dim, trivial);
    return layout;
}

std::size_t mixed(std::size_t hash, std::size_t value)
{
    return (hash ^ value) * std::size_t { 0x9E3779B97F4A7C15 } + (hash >> 29);
}

std::size_t hashOf(std::size_t hash, const Layout& layout)
{
    for (const AxisList& dim : layout.dims) {
        hash = mixed(hash, dim.size() + 101);
        for (const AxisRef& ref : dim)
            hash = mixed(hash, static_cast<std::size_t>(ref.axis));
    }
    for (const AxisRef& ref : layout.partial)
        hash = mixed(hash, static_cast<std::size_t>(ref.axis) + 1001);
    return hash;
}

const Hardware& unitHardware()
{
    static const Hardware hardware = [] {
        LinkSpec link;
        link.bytesPerSecond = 1;
        return twoLevelHardware(kMaxDevices, link, link);
    }();
    return hardware;
}

} // namespace

ReshardPlanner::ReshardPlanner(const Mesh& mesh, const Hardware& hardware)
    : m_mesh(mesh)
    , m_prices(mesh, hardware)
{
}

Result<std::vector<ReshardStep>> ReshardPlanner::steps(const Layout& from, const Layout& to, const ReshardedTensor& tensor,
                                                       const std::string& where)
{
    if (from == to)
        return std::vector<ReshardStep> {};
    if (usesSubAxes(from) || usesSubAxes(to))
        return inputError(where, "its layout uses a sub-axis, which cannot be planned yet",
                          "split the mesh axis into two axes instead");
    for (const AxisRef& ref : to.partial)
        if (!contains(from.partial, ref))
            return inputError(where, "a value that is not partial over '" + m_mesh.axis(ref.axis).name + "' cannot be made partial",
                              "choose a layout without it");
    std::size_t key = hashOf(hashOf(0, from), to);
    for (const std::int64_t size : tensor.shape)
        key = mixed(key, static_cast<std::size_t>(size));
    const auto [begin, end] = m_known.equal_range(key);
    for (auto known = begin; known != end; ++known)
        if (known->second.from == from && known->second.to == to && known->second.tensor == tensor)
            return known->second.steps;
    return m_known.emplace(key, Known { from, to, tensor, find(from, to, tensor) })->second.steps;
}

std::vector<ReshardStep> ReshardPlanner::find(const Layout& from, const Layout& to, const ReshardedTensor& tensor)
{
    // Axes of one device are taken out first and put in last, each time by a slice that changes no data.
    const std::vector<int> dropped = trivialAxes(from, m_mesh);
    const std::vector<int> added = trivialAxes(to, m_mesh);
    if (!dropped.empty() || !added.empty()) {
        const Layout start = withoutTrivialAxes(from, m_mesh);
        const Layout end = withoutTrivialAxes(to, m_mesh);
        std::vector<ReshardStep> steps;
        if (!dropped.empty())
            steps.push_back({ CollectiveKind::LocalSlice, dropped, from, start });
        if (start != end)
            for (ReshardStep& step : find(start, end, tensor))
                steps.push_back(std::move(step));
        if (!added.empty())
            steps.push_back({ CollectiveKind::LocalSlice, added, end, to });
        return steps;
    }
    auto steps = m_search.steps({ from, to, tensor, m_mesh, m_prices });
    return steps ? std::move(*steps) : stepsInFixedOrder(from, to, tensor.shape, m_mesh);
}

Result<std::vector<ReshardStep>> reshardSteps(const Layout& from, const Layout& to, const ReshardedTensor& tensor, const Mesh& mesh,
                                              const Hardware& hardware, const std::string& where)
{
    return ReshardPlanner(mesh, hardware).steps(from, to, tensor, where);
}

Result<std::vector<ReshardStep>> reshardSteps(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh,
                                              const std::string& where)
{
    return ReshardPlanner(mesh, unitHardware()).steps(from, to, { shape, DType::U8, 1 }, where);
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

std::vector<std::int64_t> sendRecvSources(const ReshardStep& step, const Mesh& mesh, const std::vector<std::int64_t>& group)
{
    const auto shardOf = [&](const Layout& layout, std::int64_t position) {
        std::int64_t number = 0;
        for (const AxisList& dim : layout.dims)
            number = number * partsOf(dim, mesh) + partIndexOf(dim, mesh, position);
        return number;
    };
    std::vector<std::int64_t> sources(group.size(), -1);
    std::unordered_map<std::int64_t, std::vector<std::int64_t>> holders; // of a shard that another member is to have
    for (std::size_t i = group.size(); i-- > 0;) {
        const std::int64_t shard = shardOf(step.before, group[i]);
        if (shard == shardOf(step.after, group[i]))
            sources[i] = group[i];
        else
            holders[shard].push_back(group[i]); // backwards, to be taken from the end
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
        if (sources[i] >= 0)
            continue;
        auto& of = holders[shardOf(step.after, group[i])];
        if (of.empty())
            continue;
        sources[i] = of.back();
        of.pop_back();
    }
    return sources;
}

} // namespace shardboard
