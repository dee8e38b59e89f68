// SPDX-License-Identifier: Apache-2.0
// What the colours and patterns of the flow stand for: how the lines between boxes are drawn, the legend's entries for a scene, and
// which items an entry is about.
#pragma once

#include "widgets/flow/flowscene.h"
#include "widgets/look/axishues.h"
#include "widgets/look/legend.h"

#include <QPointF>

#include <vector>

class QPainter;

namespace shardboard {

/// A line in the colours of the mesh axes that a value is cut over, side by side; dashed where it is partial, grey where it is
/// whole.
void paintFlowLine(QPainter& painter, const QPointF& from, const QPointF& to, const FlowInk& ink, double width,
                   const AxisHues& hues, const QWidget* widget);
/// Entries for what the scene has: `whole`, `cut/AXIS`, `partial`, `collective`. Brief ones name mesh axes alone.
std::vector<LegendEntry> flowLegend(const FlowScene& scene, const Mesh& mesh, bool brief = false);
/// Whether an item is drawn as the entry says; of an empty key all are.
bool isOfLegend(const FlowItem& item, const Mesh& mesh, const QString& key);

} // namespace shardboard
