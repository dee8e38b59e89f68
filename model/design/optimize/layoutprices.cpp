// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/layoutprices.h"

#include "model/plan/collectiveprice.h"
#include "model/plan/largestshard.h"

#include <algorithm>
#include <limits>

namespace shardboard {

int LayoutNumbers::of(const Layout& layout)
{
    std::string key;
    const auto axes = [&](const std::vector<AxisRef>& list) {
        for (const AxisRef& ref : list) {
            key += static_cast<char>(ref.axis + 1);
            if (!ref.whole())
                key += std::to_string(ref.pre) + ":" + std::to_string(ref.size);
        }
        key += '\0';
    };
    for (const auto& dim : layout.dims)
        axes(dim);
    axes(layout.partial);
    key += static_cast<char>(layout.op);
    for (const Cutting& cutting : layout.cutting)
        key += std::to_string(static_cast<int>(cutting.rule)) + "/" + std::to_string(cutting.unit) + ";";
    const auto [place, isNew] = m_numbers.emplace(std::move(key), static_cast<int>(m_layouts.size()));
    if (isNew)
        m_layouts.push_back(layout);
    return place->second;
}

LayoutPrices::LayoutPrices(const Graph& graph, const Mesh& mesh, const Hardware& hardware, Dispatch dispatch,
                           LayoutNumbers& layouts)
    : m_graph(graph)
    , m_mesh(mesh)
    , m_dispatch(dispatch)
    , m_layouts(layouts)
    , m_resharding(mesh, hardware)
{
    for (const Op& op : graph.ops)
        m_chosen = std::max(m_chosen, op.attributes.chosen);
}

LayoutPrices::Like& LayoutPrices::like(TensorId tensor, DType dtype)
{
    const std::uint64_t key = (std::uint64_t { tensor } << 8) | static_cast<std::uint64_t>(dtype);
    const auto [place, isNew] = m_likeOf.emplace(key, m_likes.size());
    if (isNew) {
        const GraphTensor& entry = m_graph.entry(tensor);
        const ReshardedTensor moved { entry.spec.shape, dtype, entry.density };
        const bool toExperts =
            m_dispatch == Dispatch::PerNode && !entry.spec.dimLabels.empty() && entry.spec.dimLabels.front() == "experts";
        const auto known =
            std::ranges::find_if(m_likes, [&](const Like& l) { return l.tensor == moved && l.toExperts == toExperts; });
        place->second = static_cast<std::size_t>(known - m_likes.begin());
        if (known == m_likes.end())
            m_likes.push_back({ moved, toExperts, {} });
    }
    return m_likes[place->second];
}

const LayoutPrices::Way& LayoutPrices::way(TensorId tensor, DType dtype, int from, int to)
{
    Like& group = like(tensor, dtype);
    const std::uint64_t key = (static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint64_t>(to);
    const auto [place, isNew] = group.ways.try_emplace(key);
    Way& out = place->second;
    if (!isNew)
        return out;
    const auto steps = m_resharding.steps(m_layouts[from], m_layouts[to], group.tensor, "layout");
    if (!steps.ok()) {
        out.seconds = out.bytes = std::numeric_limits<double>::infinity();
        return out;
    }
    for (const ReshardStep& step : steps.value()) {
        if (step.kind == CollectiveKind::LocalSlice)
            continue;
        const std::int64_t bytes =
            scaledBytes(stepBytes(step, group.tensor.shape, group.tensor.dtype, m_mesh), group.tensor.density);
        const auto seconds = [&](std::int64_t size) { return m_resharding.seconds(step.kind, step.axes, size); };
        out.bytes += static_cast<double>(bytes);
        out.seconds += group.toExperts && step.kind == CollectiveKind::AllToAll
            ? oncePerNode(bytes, m_chosen, m_resharding.prices().footprint(step.axes), m_resharding.prices().hardware(), seconds)
            : seconds(bytes);
    }
    return out;
}

double LayoutPrices::seconds(TensorId tensor, DType dtype, int from, int to)
{
    return from == to ? 0 : way(tensor, dtype, from, to).seconds;
}

double LayoutPrices::moved(TensorId tensor, DType dtype, int from, int to)
{
    return from == to ? 0 : way(tensor, dtype, from, to).bytes;
}

double LayoutPrices::ringSeconds(TensorId tensor, int layout, int axis)
{
    const TensorSpec& spec = m_graph.tensor(tensor);
    const std::int64_t part = bytesOf(largestShard(spec.shape, m_layouts[layout], m_mesh), spec.dtype);
    return m_resharding.seconds(CollectiveKind::SendRecv, { axis }, part) * static_cast<double>(m_mesh.axis(axis).size - 1);
}

double LayoutPrices::bytes(TensorId tensor, int layout)
{
    const GraphTensor& entry = m_graph.entry(tensor);
    return static_cast<double>(
        scaledBytes(bytesOf(largestShard(entry.spec.shape, m_layouts[layout], m_mesh), entry.spec.dtype), entry.density));
}

} // namespace shardboard
