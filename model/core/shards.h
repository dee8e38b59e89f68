// SPDX-License-Identifier: Apache-2.0
// From a layout to shards: which half-open index ranges of a tensor each device holds. Pure functions over value types.
// A ShardMap stores one list of parts per tensor dim, so that 16,384 devices cost nothing until one asks for a device.
#pragma once

#include "model/core/layout.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace shardboard {

/// Half-open index range [lo, hi) of one tensor dim.
struct Range {
    std::int64_t lo = 0;
    std::int64_t hi = 0;
    std::int64_t size() const { return hi - lo; }
    friend bool operator==(const Range&, const Range&) = default;
};

/// Part `index` of `parts` balanced parts of [0, size): the first size mod parts get one element more. Never an error;
/// with fewer elements than parts the last ones are empty.
Range balancedPart(std::int64_t size, std::int64_t parts, std::int64_t index);

/// Whether that many balanced parts of [0, size) lie, in order, inside the balanced parts of any smaller number that
/// divides theirs: where the size divides, and where just one part, the first or the last, differs from the others.
bool partsNest(std::int64_t size, std::int64_t parts);

/// One hyper-rectangle of the tensor, a range per tensor dim.
using Piece = std::vector<Range>;

/// What one device holds: pieces in order, joined along `joinDim` (-1 where there is one piece).
struct Shard {
    std::vector<Piece> pieces;
    int joinDim = -1;
    Shape shape() const; ///< sizes after joining
    std::int64_t elements() const;
    friend bool operator==(const Shard&, const Shard&) = default;
};

/// A run of elements on one tensor dim that is cut on its own: the whole dim, or one part of a fused dim (Q, K and V; gate
/// and up). It is dealt out in whole units (a head, a quantisation block); `numerator` / `denominator` scale its bounds for
/// packed types whose dim holds several logical elements in one (FP4 1/2, MXFP6 3/4), rounded down.
struct CutSegment {
    std::int64_t begin = 0; ///< first logical element
    std::int64_t size = 0; ///< logical elements
    std::int64_t unit = 1; ///< logical elements that stay together; a rest that is no whole unit goes to the last part
    std::int64_t numerator = 1;
    std::int64_t denominator = 1;
    friend bool operator==(const CutSegment&, const CutSegment&) = default;
};

/// How one tensor dim is cut: over which mesh axes (major first), by which rule, in which segments. Parts are computed when
/// asked for, so that a dim cut over 131,072 devices costs nothing.
class DimCut {
public:
    DimCut() = default;
    DimCut(std::vector<AxisRef> axes, const Mesh& mesh, CutRule rule, std::vector<CutSegment> segments);

    const std::vector<AxisRef>& axes() const { return m_axes; }
    CutRule rule() const { return m_rule; }
    const std::vector<CutSegment>& segments() const { return m_segments; }
    /// Number of parts: product of the sizes of the axes.
    std::int64_t count() const { return m_count; }
    /// The ranges of a part in order, one for each segment; a range may be empty.
    std::vector<Range> part(std::int64_t index) const;
    /// Elements of a part, all its ranges together.
    std::int64_t partSize(std::int64_t index) const;
    /// Elements of the largest part.
    std::int64_t largest() const;
    /// Whether every part is one range and the parts are those of the balanced rule without units.
    bool isBalanced() const;

private:
    Range range(const CutSegment& segment, std::int64_t index) const;

    std::vector<AxisRef> m_axes;
    std::vector<std::int64_t> m_axisSizes;
    CutRule m_rule = CutRule::Balanced;
    std::vector<CutSegment> m_segments;
    std::int64_t m_count = 1;
};

/// The range of part `index` of a dim of `size` over `axes`.
Range partRange(std::int64_t size, const std::vector<AxisRef>& axes, const Mesh& mesh, const Cutting& cutting, std::int64_t index);
/// Elements of the largest such part.
std::int64_t largestPart(std::int64_t size, const std::vector<AxisRef>& axes, const Mesh& mesh, const Cutting& cutting);
/// The cutting that gives the same parts and compares equal to all that do: the balanced one where that is so.
Cutting canonicalCutting(std::int64_t size, const std::vector<AxisRef>& axes, const Mesh& mesh, const Cutting& cutting);

class ShardMap {
public:
    ShardMap() = default;
    ShardMap(Mesh mesh, Shape shape, std::vector<DimCut> cuts);

    const Mesh& mesh() const { return m_mesh; }
    const Shape& shape() const { return m_shape; }
    const std::vector<DimCut>& cuts() const { return m_cuts; }

    /// What the device at this mesh position holds.
    Shard shardAt(std::int64_t position) const;
    /// Row-major number of that shard among distinctCount(); equal numbers mean equal content.
    std::int64_t distinctIndex(std::int64_t position) const;
    std::int64_t distinctCount() const;
    /// On how many devices each element lies.
    std::int64_t replication() const;
    /// Elements on the device that holds the most, and the shape of what it holds.
    std::int64_t maxElements() const;
    Shape largestShape() const;
    /// The dim that has several segments, or -1.
    int joinDim() const;

private:
    Mesh m_mesh;
    Shape m_shape;
    std::vector<DimCut> m_cuts;
};

/// Cuts a dim of `size` over `axes`. Errors (strict only): the size does not divide; the text names dim, size, parts.
/// `grain` is the indivisible unit of GrainBalanced in elements (1 otherwise).
Result<DimCut> cutDim(std::int64_t size, const std::vector<AxisRef>& axes, const Mesh& mesh, CutRule rule, std::int64_t grain,
                      const std::string& where);

/// Shards of a tensor under a layout, which must be verified. Axes in `partial` do not cut: a partial value
/// has the shards of its dims on every device of the partial axes. `grains` has the unit of each dim for GrainBalanced
/// (elements; empty: 1 each).
Result<ShardMap> shardsOf(const Shape& shape, const Layout& layout, const Mesh& mesh, CutRule rule, const std::string& where,
                          const std::vector<std::int64_t>& grains = {});

} // namespace shardboard
