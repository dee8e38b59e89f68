// SPDX-License-Identifier: Apache-2.0
// Goes through the operations of a step, planning or for real: their operands, collectives and results.
#pragma once

#include "engine/ops/execute.h"
#include "engine/run/record/steptimes.h"
#include "engine/run/step/handover.h"
#include "engine/run/step/stepstate.h"
#include "engine/run/step/verification.h"

#include <optional>
#include <string>
#include <vector>

namespace shardboard::engine {

class StepRunner {
public:
    /// All arguments must outlive it. Plans where the context does. `profiler`: null where the run is not profiled.
    StepRunner(const RunRequest& request, Context& context, RunRecord& record, Profiler* profiler = nullptr);

    void runStep(const std::vector<SegmentPass>& passes, bool verify);
    /// Whether the test hook has broken a collective.
    bool broke() const { return m_state.broke; }

private:
    /// An operand on its way into an operation: somebody else's value, or one made for it.
    struct Operand {
        const Sharded* value = nullptr;
        std::optional<Sharded> own;
    };

    void runPass(const SegmentPass& pass);
    void runOp(const SegmentPass& pass, std::size_t index);
    Operand fetch(const SegmentPass& pass, const PlannedOp& planned, std::size_t operand);
    void runCollective(const SegmentPass& pass, const Collective& collective, Operand& operand);
    std::vector<RingTransfer> ringsOf(const PlannedOp& planned);
    void recordRings(const SegmentPass& pass, const PlannedOp& planned, const std::vector<RingTransfer>& rings, double start);
    bool takesBf16(const Op& op) const;
    bool mayTakeOver(const SegmentPass& pass, std::size_t index) const;
    void keepOperands(const SegmentPass& pass, std::size_t index, std::vector<Operand>& operands);
    void dropDead(const SegmentPass& pass, std::size_t index);
    /// Whether an operation after `index` takes the tensor in this layout (any layout: null).
    static bool usedLater(const SegmentPass& pass, std::size_t index, TensorId tensor, const Layout* layout);

    StepState m_state;
    StepTimes m_times;
    Verification m_verification;
    HandOver m_handOver;
    const std::int64_t m_steps;
    std::int64_t m_done = 0; ///< operations of all steps
    std::int64_t m_total = 0;
};

} // namespace shardboard::engine
