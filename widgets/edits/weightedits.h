// SPDX-License-Identifier: Apache-2.0
// Edits of weights' layouts as designs and undo texts; the same ones serve dragging, menus and the inspector.
#pragma once

#include "model/session/document.h"

#include <QString>

#include <optional>
#include <vector>

namespace shardboard {

/// A design to go to and the name of the step that leads there.
struct WeightEdit {
    Design design;
    QString text;
};

/// `strategy` for all these weights. Written as one entry per weight pattern.
WeightEdit strategyEdit(const Document& document, const std::vector<int>& weights, const Strategy& strategy, const QString& text);
/// Mesh axis `axis` onto tensor dim `dim` of these weights (-1: off). Weights without such a dim are left alone.
WeightEdit axisEdit(const Document& document, const std::vector<int>& weights, int axis, int dim);

/// `o_proj`, or `3 weights`.
QString weightsText(const Document& document, const std::vector<int>& weights);
/// What dragging or the menu would do: `Cut o_proj dim 1 over model`, `Take model off o_proj`.
QString axisEditText(const Document& document, const std::vector<int>& weights, int axis, int dim);

/// The mesh axes that cut a dim, in order.
std::vector<int> axesOnDim(const Layout& layout, int dim);
/// The dim that a mesh axis cuts, or -1.
int dimOfAxis(const Layout& layout, int axis);

/// `row-parallel (dim 1)`, `column-parallel (dim 0)`, `cut on dim 2`, `replicated`: the field's words with the dim.
QString parallelText(const WeightLayout& weight);
/// MAX's word for it, with the dim: `columnwise (dim 1)`, `head-aware-columnwise (dim 1)`, `replicate`; empty where MAX has none.
QString maxText(const WeightLayout& weight);

} // namespace shardboard
