// SPDX-License-Identifier: Apache-2.0
// A planned segment as a strip: boxes of operations and the collectives between them; a phase of the plan as the segments in their
// order, folded to a box each but one. Small shape operations are merged into the box that they serve. Pure.
#pragma once

#include "model/design/evaluation.h"
#include "model/notation/notation.h"

#include <QString>

#include <vector>

namespace shardboard {

/// Which mesh axes a value is cut over, and over which it is partial: what its lines are coloured by.
struct FlowInk {
    std::vector<int> cut;
    std::vector<int> partial;
    friend bool operator==(const FlowInk&, const FlowInk&) = default;
};
FlowInk inkOf(const Layout& layout);

struct FlowItem {
    enum Kind { Operation, Small, CollectivePill, Folded };
    Kind kind = Operation;
    QString title;
    QString detail; ///< layout of the result; bytes and time of a collective
    QString toolTip;
    std::vector<int> weights; ///< that its operations take, indices into Evaluation::weights
    std::vector<OpId> ops;
    PlannedSegmentId segment {}; ///< that its operations belong to
    CollectiveId collective {};
    std::int64_t bytes = 0; ///< of a collective, once; of a folded segment, all its layers on one device
    double seconds = 0; ///< the same
    FlowInk ink; ///< of the value that leaves it
    bool hanging = false; ///< a collective of a weight: it comes from the side, above the item that follows
};

struct FlowScene {
    QString name; ///< `block × 32`
    QString residual; ///< layout of the stream that comes in
    FlowInk residualInk;
    std::vector<FlowItem> items;
};

/// Layouts are written in `notation`.
FlowScene makeFlowScene(const Evaluation& evaluation, PlannedSegmentId plannedSegment, Notation notation = Notation::Jax);
/// The same segment among the others of its phase, which are folded. Bytes and seconds of a folded one are those of all its layers
/// that one device has (deviceShare).
FlowScene makeFoldedScene(const Evaluation& evaluation, PlannedSegmentId plannedSegment, Notation notation = Notation::Jax);

/// `R`, `S(2) model`, `P(model)`: the layout in placement words, without the dims that are cut as in `base`.
QString shortLayout(const Layout& layout, const Mesh& mesh, const Layout& base);

} // namespace shardboard
