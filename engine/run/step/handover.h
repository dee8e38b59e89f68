// SPDX-License-Identifier: Apache-2.0
// What comes into a pass and what it leaves behind: the tensor that is carried on to the next pass, activations that are kept for
// the backward pass, gradients that wait for other segments.
#pragma once

#include "engine/run/record/steptimes.h"
#include "engine/run/step/verification.h"
#include "engine/run/step/waitingvalues.h"

#include <string>
#include <vector>

namespace shardboard::engine {

class HandOver {
public:
    /// All must outlive it.
    HandOver(StepState& state, Verification& verification, StepTimes& times);

    /// Puts what the pass begins with into the values of the state, on the stage where it runs.
    void enter(const SegmentPass& pass);
    /// Takes what others want out of them.
    void leave(const SegmentPass& pass);
    /// Nothing is carried on from here.
    void dropCarried();
    /// The step is over.
    void clear();
    /// Whether a tensor (in this layout; null: in any) is wanted after the pass.
    bool stays(const SegmentPass& pass, TensorId tensor, const Layout* layout) const;

private:
    void enterCarried(const SegmentPass& pass);
    void enterWaiting(const SegmentPass& pass);
    void keepForBackward(const SegmentPass& pass);
    void leaveForOthers(const SegmentPass& pass);
    /// From the values of the state and of the reference, or copies of them; and back.
    Handed takeOut(TensorId tensor, const Layout& layout, bool copies = false);
    void putBack(TensorId tensor, Handed handed);
    /// Where the residual stream, or its gradient, begins.
    Handed madeStream(const SegmentPass& pass, const Layout& layout);
    Sharded sent(const SegmentPass& pass, const Collective& collective, const Handed& handed, const Mesh& target);
    const Collective& sendOf(const SegmentPass& pass, const OperandUse& use) const;
    Sharded broughtInto(const Layout& wanted, Sharded value, const std::string& where);

    StepState& m_state;
    Verification& m_verification;
    StepTimes& m_times;
    const std::vector<std::vector<TensorId>> m_leaving; ///< by segment of the graph
    Handed m_carry; ///< what goes to the next pass; not valid when nothing came before
    std::int64_t m_carryStage = 0; ///< the virtual stage where it lies
    WaitingValues m_waiting;
};

} // namespace shardboard::engine
