// SPDX-License-Identifier: Apache-2.0
#include "model/core/shards.h"

#include "model/text/names.h"

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
    const auto at = [&](std::int64_t i) { return tile > 0 && i <= whole.size() / tile ? whole.lo + i * tile : whole.hi; };
    return { at(index), at(index + 1) };
}

/// The ceil rule axis after axis, as torch nests it: the digits of `index`, major first, each choose a part of a part.
Range nestedCeilPart(std::int64_t size, const std::vector<std::int64_t>& axisSizes, std::int64_t parts, std::int64_t index)
{
    Range range { 0, size };
    for (const std::int64_t count : axisSizes) {
        parts /= count;
        range = ceilPart(range, count, index / parts % count);
    }
    return range;
}

} // namespace

std::string cutRuleName(CutRule rule) { return kCutRules[static_cast<std::size_t>(rule)]; }

std::optional<CutRule> cutRuleFromName(std::string_view name) { return namedIn<CutRule>(kCutRules, name); }

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

DimCut::DimCut(std::vector<AxisRef> axes, const Mesh& mesh, CutRule rule, std::vector<CutSegment> segments)
    : m_axes(std::move(axes))
    , m_rule(rule)
    , m_segments(std::move(segments))
    , m_count(partsOf(m_axes, mesh))
{
    for (const AxisRef& ref : m_axes)
        m_axisSizes.push_back(sizeOf(ref, mesh));
}

Range DimCut::range(const CutSegment& segment, std::int64_t index) const
{
    const std::int64_t units = segment.size / segment.unit;
    const Range part = m_rule == CutRule::CeilFlat ? ceilPart({ 0, units }, m_count, index)
        : m_rule == CutRule::CeilNested            ? nestedCeilPart(units, m_axisSizes, m_count, index)
                                                   : balancedPart(units, m_count, index);
    const std::int64_t end = index == m_count - 1 ? segment.size : part.hi * segment.unit;
    const auto scaled = [&](std::int64_t at) { return (segment.begin + at) * segment.numerator / segment.denominator; };
    return { scaled(part.lo * segment.unit), scaled(end) };
}

std::vector<Range> DimCut::part(std::int64_t index) const
{
    std::vector<Range> ranges;
    ranges.reserve(m_segments.size());
    for (const CutSegment& segment : m_segments)
        ranges.push_back(range(segment, index));
    return ranges;
}

std::int64_t DimCut::partSize(std::int64_t index) const
{
    std::int64_t size = 0;
    for (const CutSegment& segment : m_segments)
        size += range(segment, index).size();
    return size;
}

std::int64_t DimCut::largest() const
{
    // The first part of every rule is the largest, but for the last one that takes what is no whole unit, and for packed
    // bounds that round.
    const bool rounds = std::ranges::any_of(m_segments, [](const CutSegment& s) { return s.denominator > 1; });
    std::int64_t largest = std::max(partSize(0), partSize(m_count - 1));
    for (std::int64_t i = 1; rounds && i + 1 < m_count; ++i)
        largest = std::max(largest, partSize(i));
    return largest;
}

bool DimCut::isBalanced() const
{
    if (m_segments.size() != 1 || m_segments.front().denominator != 1)
        return false;
    const CutSegment& segment = m_segments.front();
    if (m_rule == CutRule::Strict || segment.size % (m_count * segment.unit) == 0)
        return true;
    if (m_rule != CutRule::CeilFlat && m_rule != CutRule::CeilNested && segment.unit == 1)
        return true;
    for (std::int64_t i = 0; i < m_count; ++i)
        if (range(segment, i) != balancedPart(segment.size, m_count, i))
            return false;
    return true;
}

bool partsNest(std::int64_t size, std::int64_t parts)
{
    const std::int64_t rest = size % parts;
    return rest <= 1 || rest == parts - 1;
}

Range partRange(std::int64_t size, const std::vector<AxisRef>& axes, const Mesh& mesh, const Cutting& cutting, std::int64_t index)
{
    if (axes.empty())
        return { 0, size };
    if (cutting == Cutting {})
        return balancedPart(size, partsOf(axes, mesh), index);
    return DimCut(axes, mesh, cutting.rule, { { 0, size, cutting.unit, 1, 1 } }).part(index).front();
}

std::int64_t largestPart(std::int64_t size, const std::vector<AxisRef>& axes, const Mesh& mesh, const Cutting& cutting)
{
    if (cutting != Cutting {})
        return DimCut(axes, mesh, cutting.rule, { { 0, size, cutting.unit, 1, 1 } }).largest();
    return ceilDivide(size, partsOf(axes, mesh));
}

Cutting canonicalCutting(std::int64_t size, const std::vector<AxisRef>& axes, const Mesh& mesh, const Cutting& cutting)
{
    if (cutting.rule == CutRule::Strict || size % partsOf(axes, mesh) == 0)
        if (cutting.rule != CutRule::GrainBalanced || cutting.unit == 1)
            return {};
    return DimCut(axes, mesh, cutting.rule, { { 0, size, cutting.unit, 1, 1 } }).isBalanced() ? Cutting {} : cutting;
}

ShardMap::ShardMap(Mesh mesh, Shape shape, std::vector<DimCut> cuts)
    : m_mesh(std::move(mesh))
    , m_shape(std::move(shape))
    , m_cuts(std::move(cuts))
{
}

int ShardMap::joinDim() const
{
    const auto fused = [](const DimCut& cut) { return cut.segments().size() > 1; };
    const auto joined = std::ranges::find_if(m_cuts, fused);
    return joined == m_cuts.end() ? -1 : static_cast<int>(joined - m_cuts.begin());
}

Shard ShardMap::shardAt(std::int64_t position) const
{
    Shard shard;
    shard.joinDim = joinDim();
    std::vector<std::vector<Range>> ranges;
    std::size_t pieces = 1;
    for (const DimCut& cut : m_cuts) {
        ranges.push_back(cut.part(partIndexOf(cut.axes(), m_mesh, position)));
        pieces = std::max(pieces, ranges.back().size());
    }
    for (std::size_t i = 0; i < pieces; ++i) {
        Piece piece;
        for (const auto& dim : ranges)
            piece.push_back(dim[std::min(i, dim.size() - 1)]);
        shard.pieces.push_back(std::move(piece));
    }
    return shard;
}

std::int64_t ShardMap::distinctIndex(std::int64_t position) const
{
    std::int64_t index = 0;
    for (const DimCut& cut : m_cuts)
        index = index * cut.count() + partIndexOf(cut.axes(), m_mesh, position);
    return index;
}

std::int64_t ShardMap::distinctCount() const
{
    std::int64_t count = 1;
    for (const DimCut& cut : m_cuts)
        count *= cut.count();
    return count;
}

std::int64_t ShardMap::replication() const { return m_mesh.deviceCount() / distinctCount(); }

std::int64_t ShardMap::maxElements() const
{
    std::int64_t count = 1;
    for (const DimCut& cut : m_cuts)
        count *= cut.largest();
    return count;
}

Shape ShardMap::largestShape() const
{
    Shape out;
    for (const DimCut& cut : m_cuts)
        out.push_back(cut.largest());
    return out;
}

Result<DimCut> cutDim(std::int64_t size, const std::vector<AxisRef>& axes, const Mesh& mesh, CutRule rule, std::int64_t grain,
                      const std::string& where)
{
    const std::int64_t parts = partsOf(axes, mesh);
    if (rule == CutRule::Strict && size % parts != 0)
        return inputError(where, std::to_string(size) + " does not divide by " + std::to_string(parts),
                          "cut over another mesh axis, pad the tensor, or choose an uneven cut rule such as balanced");
    const std::int64_t unit = rule == CutRule::GrainBalanced ? std::max<std::int64_t>(1, grain) : 1;
    return DimCut(axes, mesh, rule, { { 0, size, unit, 1, 1 } });
}

Result<ShardMap> shardsOf(const Shape& shape, const Layout& layout, const Mesh& mesh, CutRule rule, const std::string& where,
                          const std::vector<std::int64_t>& grains)
{
    std::vector<DimCut> cuts;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        auto cut = cutDim(shape[dim], layout.dims[dim], mesh, rule, dim < grains.size() ? grains[dim] : 1,
                          where + " dim " + std::to_string(dim));
        if (!cut.ok())
            return cut.error();
        cuts.push_back(std::move(cut).value());
    }
    return ShardMap(mesh, shape, std::move(cuts));
}

} // namespace shardboard
