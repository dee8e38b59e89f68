// SPDX-License-Identifier: Apache-2.0
// Where the boxes of a flow stand: from left to right, in as many lines as the width needs. Pure geometry, in the world of the
// canvas.
#pragma once

#include <QRectF>
#include <QSizeF>

#include <vector>

namespace shardboard {

struct FlowBox {
    QSizeF size;
    bool hanging = false; ///< above the next box that does not hang
};

struct FlowPlacement {
    std::vector<QRectF> rects; ///< in the order of the boxes
    QSizeF size; ///< with the margins around
};

inline constexpr double kFlowBoxHeight = 44;
inline constexpr double kFlowHangingHeight = 38;
inline constexpr double kFlowGap = 24; ///< between boxes, crossed by a connector

/// No two rectangles overlap; what is wider than the width has a line of its own. Heights grow with `textScale`.
FlowPlacement placeFlow(const std::vector<FlowBox>& boxes, double width, double textScale = 1);

/// The box beside another one: in order for dx, the nearest of the line above or below for dy. Stays where there is none.
int flowNeighbour(const std::vector<QRectF>& rects, int index, int dx, int dy);

/// How thick a line is drawn: by the root of its share of the largest amount, so that small ones can still be told apart.
double flowStroke(double amount, double largest);

} // namespace shardboard
