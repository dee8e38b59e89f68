// SPDX-License-Identifier: Apache-2.0
#include "model/io/measured/projection.h"

#include "model/plan/pipeline.h"
#include "model/plan/time/steptime.h"

#include <map>
#include <set>

namespace shardboard {

using nlohmann::json;

namespace {

using Ran = std::map<std::string, const RunOperation*>; ///< by id

/// Null when it did not run. The run names the phase where several phases have an operation of that name.
const RunOperation* ranAs(const Ran& ran, const Graph& graph, const PlannedSegment& segment, const PlannedOp& planned)
{
    const std::string id = segment.name + "/" + graph.op(planned.op).name;
    auto found = ran.find(phaseName(segment.phase) + " " + id);
    if (found == ran.end())
        found = ran.find(id);
    return found == ran.end() ? nullptr : found->second;
}

/// The same plan with measured seconds in the place of the predicted ones of its operations: the cost model's step of that.
void putTogether(const Graph& graph, const Plan& plan, const Ran& ran, Projection& out)
{
    Plan measured = plan;
    for (PlannedSegment& segment : measured.segments)
        for (PlannedOp& planned : segment.ops)
            planned.seconds = ranAs(ran, graph, segment, planned)->medianSeconds;
    setStepTimes(graph, measured);
    out.exposedSeconds = measured.exposedSeconds;
    out.pipeline = measured.pipeline;
}

} // namespace

std::string Projection::statement() const
{
    std::string out = "computation measured on this machine, communication by the cost model of " + target;
    const bool waits = pipeline && pipeline->stages > 1;
    if (!notRun.empty() || (overlap == Overlap::None && !waits))
        return out + ", one after the other; it was not run on " + target;
    out += "; what ran is told one after the other";
    if (overlap != Overlap::None)
        out += std::string("; of the whole model ")
            + (overlap == Overlap::Weights   ? "collectives of weights"
                   : overlap == Overlap::All ? "all collectives"
                                             : "collectives of " + overlapName(overlap))
            + " hide behind the computation of their segment, as the cost model has it";
    if (waits)
        out += "; its " + std::to_string(pipeline->stages) + " stages wait for each other as the cost model has it ("
            + scheduleTitle(pipeline->schedule, pipeline->chunks) + ", micro-batches: " + std::to_string(microBatches) + ")";
    return out + "; it was not run on " + target;
}

Projection project(const RunResult& result, const Graph& graph, const Plan& plan, const std::string& target)
{
    Projection out;
    out.target = target;
    Ran ran;
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
            if (const RunOperation* found = ranAs(ran, graph, segment, planned))
                out.wholeComputeSeconds += static_cast<double>(planned.count) * found->medianSeconds;
            else
                out.notRun.push_back(segment.name + "/" + graph.op(planned.op).name);
        }
    out.overlap = plan.overlap;
    out.microBatches = plan.microBatches;
    if (out.notRun.empty())
        putTogether(graph, plan, ran, out);
    return out;
}

json toJson(const Projection& projection)
{
    json out = { { "hardware", projection.target },
                 { "compute", "measured" },
                 { "communication", "modelled" },
                 { "compute_seconds", projection.computeSeconds },
                 { "collective_seconds", projection.collectiveSeconds },
                 { "step_seconds", projection.stepSeconds() },
                 { "not_run", projection.notRun },
                 { "statement", projection.statement() },
                 { "whole_model", nullptr } };
    if (projection.notRun.empty()) {
        json whole = { { "compute_seconds", projection.wholeComputeSeconds },
                       { "collective_seconds", projection.wholeCollectiveSeconds },
                       { "exposed_collective_seconds", projection.exposedSeconds },
                       { "overlap", overlapName(projection.overlap) },
                       { "step_seconds", projection.wholeSeconds() },
                       { "pipeline", nullptr } };
        if (projection.pipeline)
            whole["pipeline"] = { { "stages", projection.pipeline->stages },
                                  { "chunks", projection.pipeline->chunks },
                                  { "micro_batches", projection.microBatches },
                                  { "stage_seconds", projection.pipeline->stageSeconds },
                                  { "bubble_seconds", projection.pipeline->bubbleSeconds() },
                                  { "update_seconds", projection.pipeline->updateSeconds } };
        out["whole_model"] = std::move(whole);
    }
    return out;
}

} // namespace shardboard
