// SPDX-License-Identifier: Apache-2.0
#include "model/design/optimize/layoutprices.h"

#include "model/core/shards.h"
#include "model/plan/collectiveprice.h"
#include "model/plan/largestshard.h"
#include "model/text/contains.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>

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
        m_codes.push_back(codeOf(layout));
        m_layouts.push_back(layout);
    }
    return place->second;
}

LayoutNumbers::Code LayoutNumbers::codeOf(const Layout& layout)
{
    constexpr std::size_t kMostAxes = 8; // of a dim
    constexpr int kLastAxis = 14;
    Code out;
    if (layout.dims.size() > Code::kMaxDims
        || std::ranges::any_of(layout.cutting, [](const Cutting& c) { return c != Cutting {}; }))
        return out;
    out.fits = true;
    out.op = layout.op;
    const auto add = [&](const AxisRef& ref) {
        out.fits = out.fits && ref.whole() && ref.axis <= kLastAxis;
        const std::uint32_t bit = out.fits ? std::uint32_t { 1 } << ref.axis : 0;
        out.axes |= bit;
        return bit;
    };
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim) {
        out.fits = out.fits && layout.dims[dim].size() <= kMostAxes;
        for (const AxisRef& ref : layout.dims[dim])
            if (add(ref) != 0) {
                out.dims[dim] = out.dims[dim] << 4 | static_cast<std::uint32_t>(ref.axis + 1);
                out.over |= std::uint64_t { dim + 1 } << 4 * ref.axis;
            }
    }
    for (const AxisRef& ref : layout.partial)
        if (const std::uint32_t bit = add(ref); bit != 0) {
            out.partial |= bit;
            out.over |= Code::kSummed << 4 * ref.axis;
        }
    return out;
}

std::size_t LayoutPrices::WayHash::operator()(const Way& way) const
{
    std::uint64_t hash = static_cast<std::uint64_t>(way.elements);
    const auto mix = [&](std::uint64_t value) {
        hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 29;
    };
    for (const Way::Dim& dim : way.dims) {
        mix(std::uint64_t { dim.from } << 32 | dim.to);
        mix(static_cast<std::uint64_t>(dim.size));
    }
    mix(way.partial);
    mix(std::uint64_t { way.idle } << 16 | std::uint64_t { way.ops } << 8 | static_cast<std::uint64_t>(way.dtype));
    mix(static_cast<std::uint64_t>(way.density * 1e9));
    return hash;
}

LayoutPrices::LayoutPrices(const Graph& graph, const Mesh& mesh, const Hardware& hardware, Dispatch dispatch,
                           LayoutNumbers& layouts)
    : m_graph(graph)
    , m_mesh(mesh)
    , m_dispatch(dispatch)
    , m_layouts(layouts)
    , m_resharding(mesh, hardware)
    , m_floors(mesh, m_resharding.prices())
    , m_bytes(graph.tensors.size())
{
    for (const Op& op : graph.ops)
        m_chosen = std::max(m_chosen, op.attributes.chosen);
    for (const MeshAxis& axis : mesh.axes())
        m_axes += axis.size > 1;
    for (int axis = 0; axis < std::min<int>(mesh.axisCount(), static_cast<int>(m_sizes.size())); ++axis) {
        m_sizes[static_cast<std::size_t>(axis)] = mesh.axis(axis).size;
        if (mesh.axis(axis).size == 1)
            m_trivial |= std::uint32_t { 1 } << axis;
    }
    findAlike();
}

void LayoutPrices::findAlike()
{
    std::vector<int> axes;
    for (int axis = 0; axis < m_mesh.axisCount(); ++axis)
        if (m_mesh.axis(axis).size > 1)
            axes.push_back(axis);
    constexpr std::size_t kFew = 6; // sets of the others are looked at one by one
    if (axes.size() > kFew)
        return;
    for (std::size_t b = 1; b < axes.size(); ++b)
        for (std::size_t a = 0; a < b; ++a) {
            bool alike = m_mesh.axis(axes[a]).size == m_mesh.axis(axes[b]).size;
            for (unsigned set = 0; alike && set < 1U << axes.size(); ++set) {
                if ((set >> a & 1) != 0 || (set >> b & 1) != 0)
                    continue;
                const auto with = [&](std::size_t other) {
                    std::vector<int> out;
                    for (std::size_t i = 0; i < axes.size(); ++i)
                        if ((set >> i & 1) != 0 || i == other)
                            out.push_back(axes[i]);
                    return m_resharding.prices().footprint(out);
                };
                alike = with(a) == with(b);
            }
            if (alike)
                m_alike.emplace_back(static_cast<std::uint32_t>(axes[a]), static_cast<std::uint32_t>(axes[b]));
        }
}

bool LayoutPrices::isLeftOut(TensorRole role, int from, int to) const
{
    const LayoutNumbers::Code& a = m_layouts.code(from);
    const LayoutNumbers::Code& b = m_layouts.code(to);
    const bool weight = role == TensorRole::Weight;
    int moved = 0;
    const auto moves = [&](int before, int after, int partial) {
        ++moved;
        return after == partial || (weight && m_axes >= kManyAxes && before != 0 && after != 0 && before != partial);
    };
    if (a.fits && b.fits) {
        constexpr int kSummed = static_cast<int>(LayoutNumbers::Code::kSummed);
        for (std::uint64_t rest = a.over ^ b.over; rest != 0;) {
            const int shift = std::countr_zero(rest) & ~3;
            if (moves(static_cast<int>(a.over >> shift & 15), static_cast<int>(b.over >> shift & 15), kSummed))
                return true;
            rest &= ~(std::uint64_t { 15 } << shift);
        }
    } else {
        const std::vector<std::int8_t>& before = m_layouts.over(from);
        const std::vector<std::int8_t>& after = m_layouts.over(to);
        for (std::size_t axis = 0; axis < std::max(before.size(), after.size()); ++axis) {
            const int x = axis < before.size() ? before[axis] : 0;
            const int y = axis < after.size() ? after[axis] : 0;
            if (x != y && moves(x, y, LayoutNumbers::kPartial))
                return true;
        }
    }
    return role == TensorRole::Activation && m_axes >= kManyAxes && moved > kMostMovedAxes + (m_axes > kManyAxes);
}

LayoutPrices::Like& LayoutPrices::like(TensorId tensor, DType dtype)
{
    const std::uint64_t key = (std::uint64_t { tensor } << 8) | static_cast<std::uint64_t>(dtype);
    if (key == m_lastLike.first)
        return m_likes[m_lastLike.second];
    const auto [place, isNew] = m_likeOf.emplace(key, m_likes.size());
    if (isNew) {
        const GraphTensor& entry = m_graph.entry(tensor);
        const ReshardedTensor moved { entry.spec.shape, dtype, entry.density * movedShare(entry.spec, dtype) };
        const bool toExperts =
            m_dispatch == Dispatch::PerNode && !entry.spec.dimLabels.empty() && entry.spec.dimLabels.front() == "experts";
        const TensorRole role = entry.spec.role;
        const auto known = std::ranges::find_if(
            m_likes, [&](const Like& l) { return l.tensor == moved && l.role == role && l.toExperts == toExperts; });
        place->second = static_cast<std::size_t>(known - m_likes.begin());
        if (known == m_likes.end())
            m_likes.push_back({ moved, role, toExperts, {}, {} });
    }
    m_lastLike = { key, place->second };
    return m_likes[place->second];
}

double LayoutPrices::way(TensorId tensor, DType dtype, int from, int to)
{
    Like& group = like(tensor, dtype);
    const std::uint64_t key = (static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint64_t>(to);
    const auto [place, isNew] = group.ways.try_emplace(key);
    if (!isNew)
        return place->second;
    const auto way = group.toExperts ? std::nullopt : wayOf(group.tensor, from, to);
    if (!way)
        return place->second = wayOf(group.tensor, m_layouts[from], m_layouts[to], group.toExperts);
    const auto [price, isFirst] = m_ways.try_emplace(*way);
    if (isFirst) {
        // What is cut alike on both sides takes no part.
        ReshardedTensor part = group.tensor;
        Layout start = m_layouts[from];
        Layout end = m_layouts[to];
        for (std::size_t dim = 0; dim < part.shape.size(); ++dim) {
            const std::int64_t parts = partsOf(start.dims[dim], m_mesh);
            if (start.dims[dim] == end.dims[dim] && part.shape[dim] % parts == 0) {
                part.shape[dim] /= parts;
                start.dims[dim].clear();
                end.dims[dim].clear();
            }
        }
        std::erase_if(start.partial, [&](const AxisRef& ref) { return contains(end.partial, ref); });
        end.partial.clear();
        price->second = wayOf(part, start, end, false);
    }
    return place->second = price->second;
}

std::optional<LayoutPrices::Way> LayoutPrices::wayOf(const ReshardedTensor& tensor, int from, int to) const
{
    const LayoutNumbers::Code& before = m_layouts.code(from);
    const LayoutNumbers::Code& after = m_layouts.code(to);
    if (!before.fits || !after.fits || ((before.axes | after.axes) & m_trivial) != 0 || (after.partial & ~before.partial) != 0)
        return std::nullopt;
    Way out;
    out.density = tensor.density;
    out.dtype = tensor.dtype;
    out.partial = before.partial & ~after.partial;
    out.ops = static_cast<std::uint8_t>(before.op);
    std::uint32_t moved = out.partial;
    std::size_t count = 0;
    for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) {
        Way::Dim& it = out.dims[count++];
        it = { before.dims[dim], after.dims[dim], tensor.shape[dim] };
        if (it.from == it.to)
            if (const std::int64_t parts = productOf(it.from); it.size % parts == 0) {
                it.size /= parts;
                it.from = it.to = 0;
            }
        out.elements *= it.size;
        for (const std::uint32_t axes : { it.from, it.to })
            for (std::uint32_t rest = axes; rest != 0; rest >>= 4)
                moved |= std::uint32_t { 1 } << ((rest & 15) - 1);
    }
    std::int64_t devices = 1;
    for (std::size_t axis = 0; axis < m_sizes.size(); ++axis)
        if ((moved >> axis & 1) != 0)
            devices *= m_sizes[axis];
    const auto used = std::span(out.dims).first(count);
    const bool divides = std::ranges::all_of(
        used, [&](const Way::Dim& it) { return it.size % devices == 0 || (it.size == 1 && it.from == 0 && it.to == 0); });
    for (Way::Dim& it : used) {
        if (!divides)
            continue;
        if (it.from == 0 && it.to == 0 && it.size != 1)
            out.idle = static_cast<std::uint8_t>(std::min(2, out.idle + 1));
        it.size = 0;
    }
    std::ranges::sort(used);
    for (const auto& [a, b] : m_alike) {
        const auto exchanged = [&](std::uint32_t dim) {
            for (std::uint32_t shift = 0; dim >> shift != 0 && shift < 32; shift += 4) {
                const std::uint32_t axis = (dim >> shift & 15) - 1;
                if (axis == a || axis == b)
                    dim = (dim & ~(std::uint32_t { 15 } << shift)) | (a + b - axis + 1) << shift;
            }
            return dim;
        };
        Way other = out;
        for (Way::Dim& it : std::span(other.dims).first(count))
            it = { exchanged(it.from), exchanged(it.to), it.size };
        std::ranges::sort(std::span(other.dims).first(count));
        if (((other.partial >> a ^ other.partial >> b) & 1) != 0)
            other.partial ^= std::uint32_t { 1 } << a | std::uint32_t { 1 } << b;
        if (std::pair(other.partial, other.dims) < std::pair(out.partial, out.dims))
            out = other;
    }
    return out;
}

/// Of the parts of tensors that are left, many are the same.
double LayoutPrices::wayOf(const ReshardedTensor& tensor, const Layout& from, const Layout& to, bool toExperts)
{
    // An exchange with experts is priced otherwise than by its bytes alone.
    if (!toExperts && isPlain(from) && isPlain(to)) {
        const ReshardProblem problem { from, to, tensor, m_mesh, m_resharding.prices() };
        if (const auto seconds = m_search.seconds(problem))
            return *seconds;
    }
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

/// Without sub-axes and axes of one device.
bool LayoutPrices::isPlain(const Layout& layout) const
{
    const auto plain = [&](const std::vector<AxisRef>& list) {
        return std::ranges::all_of(list, [&](const AxisRef& ref) { return ref.whole() && m_mesh.axis(ref.axis).size > 1; });
    };
    return plain(layout.partial) && std::ranges::all_of(layout.dims, plain);
}

double LayoutPrices::seconds(TensorId tensor, DType dtype, int from, int to)
{
    return from == to ? 0 : isLeftOut(m_graph.entry(tensor).spec.role, from, to) ? kNothingDoes : way(tensor, dtype, from, to);
}

double LayoutPrices::ringSeconds(TensorId tensor, int layout, int axis)
{
    const TensorSpec& spec = m_graph.tensor(tensor);
    const std::int64_t part = bytesOf(largestShard(spec.shape, m_layouts[layout], m_mesh), spec.dtype);
    return m_resharding.seconds(CollectiveKind::SendRecv, { axis }, part) * static_cast<double>(m_mesh.axis(axis).size - 1);
}

LayoutPrices::Floor LayoutPrices::floor(TensorId tensor, DType dtype, int from, int to)
{
    if (from == to)
        return { 0, true };
    Like& group = like(tensor, dtype);
    const auto a = static_cast<std::size_t>(from);
    const auto b = static_cast<std::size_t>(to);
    if (group.floors.size() <= a)
        group.floors.resize(m_layouts.count());
    if (group.floors[a].size() <= b)
        group.floors[a].resize(m_layouts.count(), { -1, false });
    if (group.floors[a][b].seconds < 0)
        group.floors[a][b] = floor(group, tensor, dtype, from, to);
    return group.floors[a][b];
}

LayoutPrices::Floor LayoutPrices::floor(Like& group, TensorId tensor, DType dtype, int from, int to)
{
    if (isLeftOut(group.role, from, to))
        return { kNothingDoes, true };
    if (group.toExperts)
        return {};
    const LayoutNumbers::Code& before = m_layouts.code(from);
    const LayoutNumbers::Code& after = m_layouts.code(to);
    if (!before.fits || !after.fits || ((before.axes | after.axes) & m_trivial) != 0 || m_mesh.axisCount() > ReshardFloors::kMaxAxes
        || (after.partial & ~before.partial) != 0)
        return { way(tensor, dtype, from, to), true };
    ReshardFloors::Change change;
    change.summed = static_cast<std::uint8_t>(before.partial & ~after.partial);
    std::int64_t elements = 1;
    std::int64_t stays = 1;
    bool divides = true;
    const Shape& shape = group.tensor.shape;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        elements *= shape[dim];
        std::uint32_t cut = before.dims[dim];
        std::uint32_t wanted = after.dims[dim];
        if (cut == wanted) {
            const std::int64_t parts = productOf(cut);
            stays *= parts;
            divides = divides && shape[dim] % parts == 0;
            continue;
        }
        const int cuts = static_cast<int>(std::bit_width(cut) + 3) / 4;
        const int wants = static_cast<int>(std::bit_width(wanted) + 3) / 4;
        std::int64_t parts = productOf(cut);
        std::int64_t wantedParts = productOf(wanted);
        divides = divides && shape[dim] % parts == 0 && shape[dim] % wantedParts == 0;
        // Leading axes that are the same stay where they are.
        if (partsNest(shape[dim], parts) && partsNest(shape[dim], wantedParts)) {
            int same = 0;
            while (same < std::min(cuts, wants) && (cut >> 4 * (cuts - 1 - same) & 15) == (wanted >> 4 * (wants - 1 - same) & 15)) {
                stays *= m_sizes[(cut >> 4 * (cuts - 1 - same) & 15) - 1];
                ++same;
            }
            cut &= (std::uint32_t { 1 } << 4 * (cuts - same)) - 1;
            wanted &= (std::uint32_t { 1 } << 4 * (wants - same)) - 1;
        }
        // From the minor axis on: parts before an axis are all parts by those from it on.
        parts = productOf(cut);
        wantedParts = productOf(wanted);
        for (std::uint32_t rest = cut; rest != 0; rest >>= 4) {
            const std::uint32_t axis = (rest & 15) - 1;
            const auto bit = static_cast<std::uint8_t>(1U << axis);
            parts /= m_sizes[axis];
            change.cut |= bit;
            std::int64_t there = wantedParts;
            bool stayed = false;
            for (std::uint32_t others = wanted; others != 0 && !stayed; others >>= 4) {
                there /= m_sizes[(others & 15) - 1];
                stayed = (others & 15) - 1 == axis && there == parts;
            }
            if (!stayed)
                change.going |= bit;
        }
        for (std::uint32_t rest = wanted; rest != 0; rest >>= 4)
            change.wanted |= static_cast<std::uint8_t>(1U << ((rest & 15) - 1));
    }
    if (change.cut == 0 && change.summed == 0 && divides)
        return { 0, true }; // it is only cut further
    const double seconds = m_floors.seconds(change, (elements + stays - 1) / stays, dtype, group.tensor.density);
    return { seconds, divides && std::popcount(change.all()) == 1 };
}

std::int64_t LayoutPrices::productOf(std::uint32_t axes) const
{
    std::int64_t product = 1;
    for (; axes != 0; axes >>= 4)
        product *= m_sizes[(axes & 15) - 1];
    return product;
}

double LayoutPrices::bytes(TensorId tensor, int layout)
{
    std::vector<double>& known = m_bytes[tensor];
    const auto at = static_cast<std::size_t>(layout);
    if (known.size() <= at)
        known.resize(at + 1, -1);
    if (known[at] < 0) {
        const GraphTensor& entry = m_graph.entry(tensor);
        known[at] = static_cast<double>(
            scaledBytes(storedBytes(entry.spec, largestShape(entry.spec.shape, m_layouts[layout], m_mesh)), entry.density));
    }
    return known[at];
}

} // namespace shardboard
