// SPDX-License-Identifier: Apache-2.0
// Rectangles that share an area in proportion to their values, as square as can be (squarified treemap: Bruls, Huizing and van
// Wijk, 2000). Pure.
#pragma once

#include <QRectF>

#include <vector>

namespace shardboard {

/// One rectangle for each value, in the order given; larger values come first in the picture (top left). A value of 0 or below
/// gets an empty rectangle. All rectangles together are `area`, and none overlaps another.
std::vector<QRectF> treemap(const std::vector<double>& values, const QRectF& area);

} // namespace shardboard
