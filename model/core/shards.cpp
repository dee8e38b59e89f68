// SPDX-License-Identifier: Apache-2.0
#include "model/core/shards.h"

#include <algorithm>
#include <array>

namespace shardboard {

namespace {

constexpr std::array<const char*, 5> kCutRules { "strict", "ceil-flat", "ceil-nested", "balanced", "grain-balanced" };

std::int64_t ceilDivide(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

/// Part `index` of the ceil rule: tiles of ceil(size / parts), the tail short or empty.
Range ceilPart(Range whole, std::int64_t parts, std::int64_t index)
{
    const std::int64_t tile = ceilDivide(whole.size(), parts);
    const auto at = [&](std::int64_t i) { return whole.lo + std::min(whole.size(), i * tile); };
    return { at(index), at(index + 1) };
}

std::vector<Range> nestedCeil(std::int64_t size, const std::vector<AxisRef>& axes, const Mesh& mesh)
{
    std::vector<Range> parts { { 0, size } };
    for (const AxisRef& ref : axes) {
        std::vector<Range> next;
        const std::int64_t count = sizeOf(ref, mesh);
        for (const Range& part : parts)
            for (std::int64_t i = 0; i < count; ++i)
                next.push_back(ceilPart(part, count, i));
        parts = std::move(next);
    }
    return parts;
}

} // namespace

std::string cutRuleName(CutRule rule) { return kCutRules[static_cast<std::size_t>(rule)]; }

std::optional<CutRule> cutRuleFromName(std::string_view name)
{
    for (std::size_t i = 0; i < kCutRules.size(); ++i)
        if (name == kCutRules[i])
            return static_cast<CutRule>(i);
    return std::nullopt;
}

Range balancedPart(std::int64_t size, std::int64_t parts, std::int64_t index)
{
    const std::int64_t base = size / parts;
    const std::int64_t extra = size % parts;
    const std::int64_t lo = index * base + std::min(index, extra);
    return { lo, lo + base + (index < extra ? 1 : 0) };
}

Shape Shard::shape() const
{
    Shape shape;
    if (pieces.empty())
        return shape;
    for (const Range& range : pieces.front())
        shape.push_back(range.size());
    if (joinDim >= 0)
        for (std::size_t i = 1; i < pieces.size(); ++i)
            shape[static_cast<std::size_t>(joinDim)] += pieces[i][static_cast<std::size_t>(joinDim)].size();
    return shape;
}

std::int64_t Shard::elements() const
{
    std::int64_t count = 1;
    for (const std::int64_t size : shape())
        count *= size;
    return count;
}

ShardMap::ShardMap(Mesh mesh, Shape shape, std::vector<DimCut> cuts)
    : m_mesh(std::move(mesh))
    , m_shape(std::move(shape))
    , m_cuts(std::move(cuts))
{
    const auto inSeveral = [](const DimCut& cut) {
        return std::any_of(cut.parts.begin(), cut.parts.end(), [](const auto& part) { return part.size() > 1; });
    };
    const auto joined = std::find_if(m_cuts.begin(), m_cuts.end(), inSeveral);
    if (joined != m_cuts.end())
        m_joinDim = static_cast<int>(joined - m_cuts.begin());
}

Shard ShardMap::shardAt(std::int64_t position) const
{
    Shard shard;
    shard.joinDim = m_joinDim;
    std::vector<const std::vector<Range>*> ranges;
    std::size_t pieces = 1;
    for (const DimCut& cut : m_cuts) {
        ranges.push_back(&cut.parts[static_cast<std::size_t>(partIndexOf(cut.axes, m_mesh, position))]);
        pieces = std::max(pieces, ranges.back()->size());
    }
    for (std::size_t i = 0; i < pieces; ++i) {
        Piece piece;
        for (const auto* dim : ranges)
            piece.push_back((*dim)[std::min(i, dim->size() - 1)]);
        shard.pieces.push_back(std::move(piece));
    }
    return shard;
}

std::int64_t ShardMap::distinctIndex(std::int64_t position) const
{
    std::int64_t index = 0;
    for (const DimCut& cut : m_cuts)
        index = index * static_cast<std::int64_t>(cut.parts.size()) + partIndexOf(cut.axes, m_mesh, position);
    return index;
}

std::int64_t ShardMap::distinctCount() const
{
    std::int64_t count = 1;
    for (const DimCut& cut : m_cuts)
        count *= static_cast<std::int64_t>(cut.parts.size());
    return count;
}

std::int64_t ShardMap::replication() const { return m_mesh.deviceCount() / distinctCount(); }

std::int64_t ShardMap::maxElements() const
{
    std::int64_t count = 1;
    for (const DimCut& cut : m_cuts) {
        std::int64_t largest = 0;
        for (const auto& part : cut.parts) {
            std::int64_t size = 0;
            for (const Range& range : part)
                size += range.size();
            largest = std::max(largest, size);
        }
        count *= largest;
    }
    return count;
}

Result<DimCut> cutDim(std::int64_t size, const std::vector<AxisRef>& axes, const Mesh& mesh, CutRule rule,
                      std::int64_t grain, const std::string& where)
{
    const std::int64_t parts = partsOf(axes, mesh);
    if (rule == CutRule::Strict && size % parts != 0)
        return inputError(where, std::to_string(size) + " does not divide by " + std::to_string(parts),
                          "cut over another mesh axis, pad the tensor, or choose an uneven cut rule such as balanced");
    DimCut cut { axes, {} };
    if (rule == CutRule::CeilNested) {
        for (const Range& range : nestedCeil(size, axes, mesh))
            cut.parts.push_back({ range });
        return cut;
    }
    // A grain that does not divide the dim cannot be kept whole; its last unit is then the shorter one.
    const std::int64_t unit = rule == CutRule::GrainBalanced ? std::max<std::int64_t>(1, grain) : 1;
    const std::int64_t units = ceilDivide(size, unit);
    for (std::int64_t i = 0; i < parts; ++i) {
        const Range range = rule == CutRule::CeilFlat ? ceilPart({ 0, units }, parts, i) : balancedPart(units, parts, i);
        cut.parts.push_back({ { std::min(size, range.lo * unit), std::min(size, range.hi * unit) } });
    }
    return cut;
}

Result<ShardMap> shardsOf(const Shape& shape, const Layout& layout, const Mesh& mesh, CutRule rule,
                          const std::string& where)
{
    std::vector<DimCut> cuts;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        auto cut = cutDim(shape[dim], layout.dims[dim], mesh, rule, 1, where + " dim " + std::to_string(dim));
        if (!cut.ok())
            return cut.error();
        cuts.push_back(std::move(cut).value());
    }
    return ShardMap(mesh, shape, std::move(cuts));
}

} // namespace shardboard
