// SPDX-License-Identifier: Apache-2.0
// The unsharded computation beside a run, and the comparison of the run's values with it.
#pragma once

#include "engine/ops/execute.h"
#include "engine/run/record/runrecord.h"
#include "engine/run/step/stepstate.h"

#include <map>
#include <optional>
#include <string>

namespace shardboard::engine {

/// Every value of it lies whole on one device. All functions but on() are for steps that are verified.
class Verification {
public:
    /// Both must outlive it.
    Verification(const StepState& state, RunRecord& record);

    void setOn(bool on) { m_on = on; }
    bool on() const { return m_on; }

    /// Null when the tensor does not exist.
    Sharded* find(TensorId tensor) { return m_values.find(tensor, wholeLayout(tensor)); }
    void put(TensorId tensor, Sharded value) { m_values.put(tensor, std::move(value)); }
    Sharded take(TensorId tensor) { return m_values.take(tensor, wholeLayout(tensor)); }
    void drop(TensorId tensor) { m_values.drop(tensor, wholeLayout(tensor)); }
    void clear() { m_values.clear(); }
    /// The whole tensor of a source, without memory.
    Sharded fromSource(TensorId tensor, const Source& source) const;

    /// Has the reference choose the experts that the run chose, where the operation is one that chooses.
    void chooseAlike(const Op& op, const OpCall& call);
    /// Computes the operation unsharded and compares its result in the run, recorded under `id`. `takesOver`: the operand that the
    /// result may replace is wanted by nobody else.
    void runOp(const SegmentPass& pass, std::size_t index, bool takesOver, const std::string& id, const Sharded& result);
    /// Compares what a collective made of a tensor.
    void compare(const SegmentPass& pass, const Collective& collective, const Sharded& value);
    /// Compares a value with `reference`.
    void compare(const SegmentPass& pass, const std::string& id, TensorId tensor, const Sharded& value, const Sharded& reference);

private:
    Layout wholeLayout(TensorId tensor) const;

    const StepState& m_state;
    RunRecord& m_record;
    const Mesh m_single {}; ///< one device
    RunValues m_values;
    std::map<TensorId, double> m_among; ///< mean square of what the values of a tensor were chosen from
    bool m_on = false;
};

} // namespace shardboard::engine
