// SPDX-License-Identifier: Apache-2.0
// What the operations and collectives of a run took, of all processes: for the result, the profile and the hook of samples.
#pragma once

#include "engine/run/profiler.h"
#include "engine/run/runrecord.h"
#include "engine/run/stepstate.h"

#include <set>
#include <string>
#include <vector>

namespace shardboard::engine {

class StepTimes {
public:
    /// All arguments must outlive it.
    StepTimes(const StepState& state, RunRecord& record);

    /// Times go there, too; null: nowhere else.
    void setProfiler(Profiler* profiler) { m_profiler = profiler; }
    /// `segment/operation`, with its phase where several phases have one of that name.
    std::string idOf(const SegmentPass& pass, const Op& op) const;

    /// One execution in a pass, which began at `start` by now(). Nothing when planning.
    void add(const SegmentPass& pass, const RunOperation& what, const PlannedOp& planned, const Timing& timing, double start);
    void add(const SegmentPass& pass, const Collective& collective, const Timing& timing, double start);
    /// At the end of a step of several processes, with the passes still there: the first one gets the times of all.
    void gather();

private:
    /// An execution whose times on other processes are still to come.
    struct Execution {
        const SegmentPass* pass = nullptr;
        RunOperation what;
        const PlannedOp* op = nullptr; ///< or
        const Collective* collective = nullptr;
        Timing timing;
        double start = 0;
    };
    void add(Execution execution);
    void write(const Execution& execution);

    const StepState& m_state;
    RunRecord& m_record;
    Profiler* m_profiler = nullptr;
    std::set<std::string> m_ambiguous; ///< `segment/operation` that several phases have
    std::vector<Execution> m_executions; ///< of this step, where several processes run the program
    double m_begin = 0;
};

} // namespace shardboard::engine
