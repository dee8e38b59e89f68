// SPDX-License-Identifier: Apache-2.0
// The chain from the root of a cause (an entry, a rule, a pin, a pick) to what it led to.
#pragma once

#include "model/design/evaluation.h"
#include "model/design/explain/explain.h"
#include "model/design/presets/presets.h"
#include "model/plan/planner/pinning.h"

namespace shardboard {

class CauseFinder {
public:
    CauseFinder(const Design& design, const Evaluation& evaluation, const Pinning& pinning);

    /// `rows`: those of the operation that wanted it.
    std::vector<CauseLink> ofCollective(const Collective& collective, const std::vector<AxisExplanation>& rows);
    /// Why a tensor is laid out as an operation of that planned segment finds it.
    std::vector<CauseLink> ofTensor(TensorId tensor, PlannedSegmentId segment, const Layout& layout);
    /// Why a weight or input is laid out as it is.
    CauseLink ofWeight(int weight) const;

private:
    using Chain = std::vector<CauseLink>;

    /// How a tensor lies over an axis, as a planned segment finds it.
    struct Traced {
        TensorId tensor;
        PlannedSegmentId segment {};
        int axis;
        Placement placement;
        int depth = 0; ///< links before it
    };
    void trace(Chain& chain, const Traced& at);
    void traceProduct(Chain& chain, const Traced& at, const PlannedOp& made);
    CauseLink layoutLink(int weight, const Placement& placement) const;
    CauseLink needLink(const Collective& collective, const AxisExplanation* axis) const;
    std::string entryText(const WeightLayout& weight) const;
    const PlannedOp* producer(TensorId tensor, PlannedSegmentId segment, PlannedSegmentId& madeIn) const;
    int weightOf(TensorId tensor) const;
    std::string dimText(TensorId tensor, int dim) const;
    static Chain merged(std::vector<Chain> chains, const std::vector<std::string>& axes);

    const Design& m_design;
    const Evaluation& m_evaluation;
    const Pinning& m_pinning;
    EntryOrigin m_origin;
    std::vector<OpId> m_producers; ///< by TensorId
};

} // namespace shardboard
