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

/// What happens to a dim that does not divide (formats B0.3).
enum class CutRule { Strict, CeilFlat, CeilNested, Balanced, GrainBalanced };
std::string cutRuleName(CutRule rule); ///< strict, ceil-flat, ceil-nested, balanced, grain-balanced
std::optional<CutRule> cutRuleFromName(std::string_view name);

/// Part `index` of `parts` balanced parts of [0, size): the first size mod parts get one element more. Never an error;
/// with fewer elements than parts the last ones are empty.
Range balancedPart(std::int64_t size, std::int64_t parts, std::int64_t index);

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

/// How one tensor dim is cut: the mesh axes (major first) and, for each part, its ranges in order (one, unless the
/// dim is a fusion of several segments).
struct DimCut {
    std::vector<AxisRef> axes;
    std::vector<std::vector<Range>> parts;
};

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
    /// Elements on the device that holds the most.
    std::int64_t maxElements() const;
    /// The dim whose parts have several ranges, or -1.
    int joinDim() const { return m_joinDim; }

private:
    Mesh m_mesh;
    Shape m_shape;
    std::vector<DimCut> m_cuts;
    int m_joinDim = -1; ///< kept, so that asking for one device does not look at the parts of all
};

/// Cuts a dim of `size` over `axes`. Errors (strict only): the size does not divide; the text names dim, size, parts.
/// `grain` is the indivisible unit of GrainBalanced in elements (1 otherwise).
Result<DimCut> cutDim(std::int64_t size, const std::vector<AxisRef>& axes, const Mesh& mesh, CutRule rule,
                      std::int64_t grain, const std::string& where);

/// Shards of a tensor under a layout, which must be verified. Axes in `partial` do not cut: a partial value
/// has the shards of its dims on every device of the partial axes.
Result<ShardMap> shardsOf(const Shape& shape, const Layout& layout, const Mesh& mesh, CutRule rule,
                          const std::string& where);

} // namespace shardboard
