// SPDX-License-Identifier: Apache-2.0
// A planned segment as a strip: boxes of operations and the collectives between them. Small shape operations are merged
// into the box that they serve. Pure.
#pragma once

#include "model/design/evaluate.h"
#include "model/notation/notation.h"

#include <QString>

#include <vector>

namespace shardboard {

struct FlowItem {
    enum Kind { Operation, Small, CollectivePill };
    Kind kind = Operation;
    QString title;
    QString detail; ///< layout of the result; bytes and time of a collective
    QString toolTip;
    std::vector<int> weights; ///< that its operations take, indices into Evaluation::weights
    std::vector<OpId> ops;
    int segment = -1; ///< index into Plan::segments that its operations belong to
    int collective = -1; ///< index into Plan::collectives
    std::int64_t bytes = 0;
    bool hanging = false; ///< a collective of a weight: it comes from the side, above the item that follows
};

struct FlowScene {
    QString name; ///< `block × 32`
    QString residual; ///< layout of the stream that comes in
    std::vector<FlowItem> items;
};

/// Layouts are written in `notation`.
FlowScene makeFlowScene(const Evaluation& evaluation, int plannedSegment, Notation notation = Notation::Jax);

/// `R`, `S(2) model`, `P(model)`: the layout in placement words, without the dims that are cut as in `base`.
QString shortLayout(const Layout& layout, const Mesh& mesh, const Layout& base);

} // namespace shardboard
