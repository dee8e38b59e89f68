// SPDX-License-Identifier: Apache-2.0
// What the operations and collectives of a run took, of all processes: for the result, the profile and the hook of samples.
#pragma once

#include "engine/run/record/profiler.h"
#include "engine/run/record/runrecord.h"
#include "engine/run/schedule/runrequest.h"
#include "engine/run/schedule/stages.h"

#include <set>
#include <string>
#include <vector>

namespace shardboard::engine {

class StepTimes {
public:
    /// All arguments must outlive it. Times go to the profiler, too; null: nowhere else.
    StepTimes(const RunRequest& request, const Context& context, const Stages& stages, RunRecord& record, Profiler* profiler);

    /// `segment/operation`, with its phase where several phases have one of that name.
    std::string idOf(const SegmentPass& pass, const Op& op) const;

    /// One execution in a pass, which began at `start` by now(). Nothing when planning.
    void add(const SegmentPass& pass, const PlannedOp& planned, const Timing& timing, double start);
    void add(const SegmentPass& pass, const Collective& collective, const Timing& timing, double start);
    /// At the end of a step, with the passes still there: where several processes run the program, the first one gets the times of
    /// all.
    void gather();

private:
    void add(Execution execution);
    void write(const Execution& execution);
    const Mesh& meshOf(const Execution& execution) const { return m_stages.mesh(execution.pass->virtualStage); }

    const RunRequest& m_request;
    const Context& m_context;
    const Stages& m_stages;
    RunRecord& m_record;
    Profiler* m_profiler;
    std::set<std::string> m_ambiguous; ///< `segment/operation` that several phases have
    std::vector<Execution> m_executions; ///< of this step, whose times on other processes are still to come
    double m_begin = 0;
};

} // namespace shardboard::engine
