// SPDX-License-Identifier: Apache-2.0
// How a tensor lies on a device mesh: per tensor dim an ordered list of mesh axes (major first), and the mesh axes over
// which the value is still partial. Every other axis replicates. This is the JAX / Shardy form, because the order of
// axes on a dim must not get lost; placements per mesh axis (MAX, DTensor) are a projection of it.
#pragma once

#include "model/core/cutrule.h"
#include "model/core/mesh.h"
#include "model/core/tensor.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// A mesh axis, or the part of it (sub-axis, Shardy's `x:(pre)size`) of `size` devices after a major part of `pre`.
struct AxisRef {
    int axis = 0; ///< index into Mesh::axes()
    std::int64_t pre = 1;
    std::int64_t size = 0; ///< 0: the whole axis
    bool whole() const { return size == 0; }
    friend bool operator==(const AxisRef&, const AxisRef&) = default;
};

enum class ReduceOp { Sum, Max, Min };

struct Layout {
    std::vector<std::vector<AxisRef>> dims; ///< one list per tensor dim; block index = row-major over the list
    std::vector<AxisRef> partial; ///< in mesh order; values over these axes must still be combined with `op`
    ReduceOp op = ReduceOp::Sum;
    /// Per tensor dim how it is cut where it does not divide. Only in plans; empty when every dim's parts are the balanced
    /// ones, so that layouts with equal shards compare equal.
    std::vector<Cutting> cutting {};

    /// Everything whole on every device.
    static Layout replicated(std::size_t rank);
    /// One dim cut over these whole axes, major first.
    static Layout cut(std::size_t rank, int dim, const std::vector<int>& axes);

    bool isReplicated() const;
    Cutting cuttingOf(std::size_t dim) const { return dim < cutting.size() ? cutting[dim] : Cutting {}; }
    void setCutting(std::size_t dim, const Cutting& value);
    friend bool operator==(const Layout&, const Layout&) = default;
};

/// Number of devices that a reference spans.
std::int64_t sizeOf(const AxisRef& ref, const Mesh& mesh);
/// Coordinate of a mesh position along a reference, in [0, sizeOf).
std::int64_t coordinateOf(const AxisRef& ref, const Mesh& mesh, std::int64_t position);
/// Into how many parts a dim is cut.
std::int64_t partsOf(const std::vector<AxisRef>& axes, const Mesh& mesh);
/// Which part of the dim a mesh position holds.
std::int64_t partIndexOf(const std::vector<AxisRef>& axes, const Mesh& mesh, std::int64_t position);

/// Rules: as many lists as the tensor has dims; every axis exists; no axis is used twice (on two dims, twice on one, or
/// on a dim and in `partial`); sub-axes divide their axis, do not overlap and belong to one split of it (Shardy's rule).
/// `where` names the tensor for the text.
Status verifyLayout(const Layout& layout, const Mesh& mesh, std::size_t rank, const std::string& where);

/// JAX notation: `P('data', ('model', 'pod'))`, `P(None, 'model', unreduced={'data'})`, with `unreduced_kind=max` where the
/// operator is no sum. Trailing Nones are left out unless `rank` entries are asked for with `full`. Uneven cuts of a plan
/// are written as our own extension, `cut={0: 'grain-balanced:128'}`.
std::string specText(const Layout& layout, const Mesh& mesh, bool full = false);
/// Parses JAX notation (quotes ' or ", `P(...)` or `PartitionSpec(...)`), for a tensor of that rank. Missing trailing
/// entries mean not cut; `reduced={…}` changes no layout. Errors name the entry: unknown axis, more entries than dims, an
/// axis used twice, an unconstrained dim.
Result<Layout> parseSpec(std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where = "--spec");

/// Placements per mesh axis as torch DTensor prints them, `R, S(1)`; axis order on a dim is lost in this projection
/// when it is not mesh order, which is then marked by a trailing `*`.
std::string placementsText(const Layout& layout, const Mesh& mesh);

} // namespace shardboard
