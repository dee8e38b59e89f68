// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/layoutprices.h"

#include "model/plan/collectiveprice.h"
#include "model/plan/largestshard.h"
#include "model/text/contains.h"

#include <algorithm>
#include <limits>

namespace shardboard {

namespace {

constexpr double kNothingDoes = std::numeric_limits<double>::infinity();

} // namespace

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
    if (isNew) {
        std::vector<std::int8_t> over;
        const auto set = [&](const AxisRef& ref, std::int8_t what) {
            over.resize(std::max(over.size(), static_cast<std::size_t>(ref.axis) + 1));
            over[static_cast<std::size_t>(ref.axis)] = what;
        };
        for (std::size_t dim = 0; dim < layout.dims.size(); ++dim)
            for (const AxisRef& ref : layout.dims[dim])
                set(ref, static_cast<std::int8_t>(dim + 1));
        for (const AxisRef& ref : layout.partial)
            set(ref, kPartial);
        m_over.push_back(std::move(over));
        m_layouts.push_back(layout);
    }
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
    for (const MeshAxis& axis : mesh.axes())
        m_axes += axis.size > 1;
}

bool LayoutPrices::isLeftOut(TensorId tensor, int from, int to) const
{
    const std::vector<std::int8_t>& before = m_layouts.over(from);
    const std::vector<std::int8_t>& after = m_layouts.over(to);
    const GraphTensor& entry = m_graph.entry(tensor);
    const bool weight = entry.spec.role == TensorRole::Weight;
    int moved = 0;
    for (std::size_t axis = 0; axis < std::max(before.size(), after.size()); ++axis) {
        const int a = axis < before.size() ? before[axis] : 0;
        const int b = axis < after.size() ? after[axis] : 0;
        if (a == b)
            continue;
        if (b == LayoutNumbers::kPartial)
            return true;
        ++moved;
        if (weight && m_axes >= kManyAxes && a != 0 && b != 0 && a != LayoutNumbers::kPartial)
            return true;
    }
    return !weight && entry.spec.role == TensorRole::Activation && m_axes >= kManyAxes
        && moved > kMostMovedAxes + (m_axes > kManyAxes);
}

LayoutPrices::Like& LayoutPrices::like(TensorId tensor, DType dtype)
{
    const std::uint64_t key = (std::uint64_t { tensor } << 8) | static_cast<std::uint64_t>(dtype);
    const auto [place, isNew] = m_likeOf.emplace(key, m_likes.size());
    if (isNew) {
        const GraphTensor& entry = m_graph.entry(tensor);
        const ReshardedTensor moved { entry.spec.shape, dtype, entry.density * movedShare(entry.spec, dtype) };
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

double LayoutPrices::way(TensorId tensor, DType dtype, int from, int to)
{
    Like& group = like(tensor, dtype);
    const std::uint64_t key = (static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint64_t>(to);
    const auto [place, isNew] = group.ways.try_emplace(key);
    if (!isNew)
        return place->second;
    const Layout& before = m_layouts[from];
    const Layout& after = m_layouts[to];
    // What is cut alike on both sides takes no part: the parts are as good as tensors of their own.
    ReshardedTensor part = group.tensor;
    Layout start = before;
    Layout end = after;
    bool smaller = false;
    for (std::size_t dim = 0; dim < part.shape.size(); ++dim) {
        const std::int64_t parts = partsOf(start.dims[dim], m_mesh);
        if (parts > 1 && start.dims[dim] == end.dims[dim] && start.cuttingOf(dim) == end.cuttingOf(dim)
            && part.shape[dim] % parts == 0 && start.cuttingOf(dim) == Cutting {}) {
            part.shape[dim] /= parts;
            start.dims[dim].clear();
            end.dims[dim].clear();
            smaller = true;
        }
    }
    if (std::erase_if(start.partial, [&](const AxisRef& ref) { return contains(after.partial, ref); }) > 0) {
        end.partial.clear();
        smaller = true;
    }
    if (group.toExperts)
        return place->second = wayOf(group.tensor, before, after, true);
    if (const auto what = shapeless(part, start, end)) {
        const auto [price, isFirst] = m_shapeless.try_emplace(*what);
        if (isFirst)
            price->second = wayOf(part, start, end, false);
        return place->second = price->second;
    }
    return place->second = smaller ? wayOf(part, start, end, false) : wayOf(group.tensor, before, after, false);
}

/// What a way costs does not depend on which dim is which where all dims divide by everything that moves; of dims that nothing cuts
/// before or after, two are as good as more.
std::optional<std::string> LayoutPrices::shapeless(const ReshardedTensor& tensor, const Layout& from, const Layout& to) const
{
    std::int64_t devices = 1; // of what moves
    for (int axis = 0; axis < static_cast<int>(m_mesh.axes().size()); ++axis) {
        const auto has = [&](const Layout& layout) {
            return contains(layout.partial, AxisRef { axis })
                || std::ranges::any_of(layout.dims, [&](const auto& dim) { return contains(dim, AxisRef { axis }); });
        };
        if (has(from) || has(to))
            devices *= m_mesh.axis(axis).size;
    }
    std::int64_t elements = 1;
    std::vector<std::string> dims;
    std::size_t idle = 0;
    for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) {
        elements *= tensor.shape[dim];
        if (from.cuttingOf(dim) != Cutting {} || to.cuttingOf(dim) != Cutting {})
            return std::nullopt;
        const bool isIdle = from.dims[dim].empty() && to.dims[dim].empty();
        if (tensor.shape[dim] % devices != 0) {
            if (isIdle && tensor.shape[dim] == 1)
                continue; // nothing can be cut there
            return std::nullopt;
        }
        if (isIdle) {
            ++idle;
            continue;
        }
        std::string text;
        for (const auto* layout : { &from, &to }) {
            for (const AxisRef& ref : layout->dims[dim])
                text += static_cast<char>('a' + ref.axis);
            text += '>';
        }
        dims.push_back(std::move(text));
    }
    std::ranges::sort(dims);
    std::string out = std::to_string(elements) + ' ' + std::to_string(static_cast<int>(tensor.dtype)) + ' '
        + std::to_string(tensor.density) + ' ' + std::to_string(std::min<std::size_t>(idle, 2)) + ' ';
    for (const std::string& dim : dims)
        out += dim + ' ';
    for (const auto* layout : { &from, &to }) {
        std::string sums;
        for (const AxisRef& ref : layout->partial)
            sums += static_cast<char>('a' + ref.axis);
        std::ranges::sort(sums);
        out += sums + '>' + static_cast<char>('0' + static_cast<int>(layout->op));
    }
    return out;
}

/// Of the parts of tensors that are left, many are the same.
double LayoutPrices::wayOf(const ReshardedTensor& tensor, const Layout& from, const Layout& to, bool toExperts)
{
    const auto steps = m_resharding.steps(from, to, tensor, "layout");
    if (!steps.ok())
        return kNothingDoes;
    double out = 0;
    for (const ReshardStep& step : steps.value()) {
        if (step.kind == CollectiveKind::LocalSlice)
            continue;
        const std::int64_t bytes = scaledBytes(stepBytes(step, tensor.shape, tensor.dtype, m_mesh), tensor.density);
        const auto seconds = [&](std::int64_t size) { return m_resharding.seconds(step.kind, step.axes, size); };
        out += toExperts && step.kind == CollectiveKind::AllToAll
            ? oncePerNode(bytes, m_chosen, m_resharding.prices().footprint(step.axes), m_resharding.prices().hardware(), seconds)
            : seconds(bytes);
    }
    return out;
}

double LayoutPrices::seconds(TensorId tensor, DType dtype, int from, int to)
{
    return from == to ? 0 : isLeftOut(tensor, from, to) ? kNothingDoes : way(tensor, dtype, from, to);
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
        scaledBytes(storedBytes(entry.spec, largestShape(entry.spec.shape, m_layouts[layout], m_mesh)), entry.density));
}

} // namespace shardboard
