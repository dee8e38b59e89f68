// SPDX-License-Identifier: Apache-2.0
#include "model/protocol/projection.h"

#include <map>
#include <set>

namespace shardboard {

using nlohmann::json;

std::string Projection::statement() const
{
    return "computation measured on this machine, communication by the cost model of " + target
        + ", one after the other; it was not run on " + target;
}

Projection project(const RunResult& result, const Graph& graph, const Plan& plan, const std::string& target)
{
    Projection out;
    out.target = target;
    std::map<std::string, const RunOperation*> ran;
    for (const RunOperation& operation : result.operations)
        ran.emplace(operation.id, &operation);
    std::set<std::string> collectives;
    for (const Collective& collective : plan.collectives) {
        out.wholeCollectiveSeconds += static_cast<double>(collective.count) * collective.seconds;
        collectives.insert(collective.id);
        if (const auto found = ran.find(collective.id); found != ran.end())
            out.collectiveSeconds += static_cast<double>(found->second->count) * collective.seconds;
    }
    for (const RunOperation& operation : result.operations)
        if (!collectives.contains(operation.id))
            out.computeSeconds += static_cast<double>(operation.count) * operation.medianSeconds;
    for (const PlannedSegment& segment : plan.segments)
        for (const PlannedOp& planned : segment.ops) {
            // The run names the phase where several phases have an operation of that name.
            const std::string id = segment.name + "/" + graph.op(planned.op).name;
            auto found = ran.find(phaseName(segment.phase) + " " + id);
            if (found == ran.end())
                found = ran.find(id);
            if (found == ran.end())
                out.notRun.push_back(id);
            else
                out.wholeComputeSeconds += static_cast<double>(planned.count) * found->second->medianSeconds;
        }
    return out;
}

json toJson(const Projection& projection)
{
    json out = { { "hardware", projection.target }, { "compute", "measured" }, { "communication", "modelled" },
                 { "compute_seconds", projection.computeSeconds }, { "collective_seconds", projection.collectiveSeconds },
                 { "step_seconds", projection.stepSeconds() }, { "not_run", projection.notRun },
                 { "statement", projection.statement() }, { "whole_model", nullptr } };
    if (projection.notRun.empty())
        out["whole_model"] = { { "compute_seconds", projection.wholeComputeSeconds },
                               { "collective_seconds", projection.wholeCollectiveSeconds },
                               { "step_seconds", projection.wholeSeconds() } };
    return out;
}

} // namespace shardboard
