// SPDX-License-Identifier: Apache-2.0
// Layouts that mean the same have one canonical form: parts of a mesh axis that lie side by side are one part.
#pragma once

#include "model/core/layout.h"

#include <vector>

namespace shardboard {

/// `pre` and the product `pre * size` of a reference; the whole axis is [1, its size].
struct AxisSpan {
    std::int64_t begin = 1;
    std::int64_t end = 1;
};
AxisSpan spanOf(const AxisRef& ref, const Mesh& mesh);
/// The reference of a span of an axis: whole where the span is.
AxisRef refOf(int axis, AxisSpan span, const Mesh& mesh);
/// Whether `minor`, written right after `major`, is the next part of the same axis, so that both are one reference.
bool mergeable(const AxisRef& major, const AxisRef& minor, const Mesh& mesh);

/// Neighbours merged (on x=8, "x:(1)2", "x:(2)4" is x), a sub-axis that is all of its axis written as the axis,
/// `partial` in mesh order, `op` the sum where nothing is partial. The layout must be verified.
Layout canonicalLayout(const Layout& layout, const Mesh& mesh);
/// Canonical, without the mesh axes of size 1: they cut nothing.
Layout withoutSizeOneAxes(const Layout& layout, const Mesh& mesh);
/// Whether both put the same part of every value on every device.
bool sameLayout(const Layout& a, const Layout& b, const Mesh& mesh);

/// `"x":(2)4` as text without quotes, `x:(2)4`.
std::string axisText(const AxisRef& ref, const Mesh& mesh);
/// The first sub-axis of a canonical layout, or nothing.
const AxisRef* firstSubAxis(const Layout& layout);
/// Why a notation without sub-axes cannot say this one, and how to split the mesh axis.
Error subAxisError(const std::string& notation, const AxisRef& ref, const Mesh& mesh);

} // namespace shardboard
