// SPDX-License-Identifier: Apache-2.0
// How long a step of a pipeline takes in which nothing runs beside anything, worked out pass by pass from what operations and
// collectives of a plan take: as Megatron orders passes (arXiv 2104.04473, 2.2), a stage does one thing at a time.
#pragma once

#include "model/plan/pipeline.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace shardboard {

/// Seconds of a layer, or of what is no layer, for one micro-batch; without sends between stages.
inline double secondsOfLayer(const Plan& plan, std::size_t part)
{
    const PlannedSegment& segment = plan.segments[part];
    const double times = static_cast<double>(segment.count * (segment.phase == Phase::Update ? 1 : plan.microBatches));
    double out = 0;
    for (const PlannedOp& op : segment.ops)
        out += static_cast<double>(op.count) * op.seconds / times;
    for (const Collective& collective : plan.collectives)
        if (collective.plannedSegment == PlannedSegmentId(part) && !isStageSend(plan, collective))
            out += static_cast<double>(collective.count) * collective.seconds / times;
    return out;
}

/// Seconds from its start to the end of the last update. Collectives of a pass come in every micro-batch, if at all.
inline double pipelineSeconds(const Graph& graph, const Plan& plan)
{
    const PlannedPipeline& pipeline = *plan.pipeline;
    const std::int64_t p = pipeline.stages;
    const std::int64_t v = pipeline.chunks;
    const std::int64_t m = plan.microBatches;
    const std::int64_t runs = p * v;
    std::int64_t firstLayer = 0;
    while (!graph.segments[static_cast<std::size_t>(firstLayer)].isLayer)
        ++firstLayer;
    // What a run of layers takes, and the update of a stage.
    std::vector<double> forward(static_cast<std::size_t>(runs), 0);
    std::vector<double> backward = forward;
    std::vector<double> update(static_cast<std::size_t>(p), 0);
    bool trains = false;
    for (std::size_t part = 0; part < plan.segments.size(); ++part) {
        const PlannedSegment& planned = plan.segments[part];
        const Segment& segment = graph.segment(planned.segment);
        std::int64_t origin = 0; // the forward segment that it belongs to
        for (std::size_t i = 0; i < graph.segments.size(); ++i)
            if (&graph.segments[i] == &segment)
                origin = static_cast<std::int64_t>(i);
        if (planned.phase != Phase::Forward)
            origin = static_cast<std::int64_t>(segment.of.number());
        const double each = secondsOfLayer(plan, part);
        trains = trains || planned.phase == Phase::Backward;
        for (std::int64_t run = 0; run < runs; ++run) {
            const Range own = layersOfRun(pipeline, run);
            const std::int64_t layers = segment.isLayer
                ? std::max<std::int64_t>(
                    0, std::min(own.hi, planned.firstLayer + planned.count) - std::max(own.lo, planned.firstLayer))
                : run == (origin > firstLayer ? runs - 1 : 0) ? planned.count
                                                              : 0;
            const double seconds = static_cast<double>(layers) * each;
            const auto at = static_cast<std::size_t>(run);
            (planned.phase == Phase::Forward        ? forward[at]
                 : planned.phase == Phase::Backward ? backward[at]
                                                    : update[static_cast<std::size_t>(run % p)]) += seconds;
        }
    }
    double sends[2] {};
    for (const Collective& collective : plan.collectives)
        if (isStageSend(plan, collective) && graph.segment(plan.segment(collective.plannedSegment).segment).isLayer)
            sends[plan.segment(collective.plannedSegment).phase == Phase::Backward] +=
                static_cast<double>(collective.count) * collective.seconds / static_cast<double>((runs - 1) * m);
    // Passes of a stage in Megatron's order: forward or not, run, micro-batch.
    struct Pass {
        bool forward;
        std::int64_t run, micro;
    };
    std::vector<std::vector<Pass>> order(static_cast<std::size_t>(p));
    const auto nth = [&](std::int64_t k, std::int64_t stage, bool ahead) {
        const std::int64_t group = k / (p * v);
        const std::int64_t chunk = v == 1 ? 0 : k % (p * v) / p;
        const std::int64_t micro = v == 1 ? k : group * p + k % p;
        return Pass { ahead, (ahead ? chunk : v - 1 - chunk) * p + stage, micro };
    };
    for (std::int64_t stage = 0; stage < p; ++stage) {
        const std::int64_t warmUp = !trains ? m * v : std::min(m * v, v == 1 ? p - stage - 1 : 2 * (p - stage - 1) + (v - 1) * p);
        auto& passes = order[static_cast<std::size_t>(stage)];
        for (std::int64_t k = 0; k < warmUp; ++k)
            passes.push_back(nth(k, stage, true));
        for (std::int64_t k = warmUp; k < m * v; ++k) {
            passes.push_back(nth(k, stage, true));
            passes.push_back(nth(k - warmUp, stage, false));
        }
        for (std::int64_t k = m * v - warmUp; trains && k < m * v; ++k)
            passes.push_back(nth(k, stage, false));
    }
    std::map<std::pair<bool, std::pair<std::int64_t, std::int64_t>>, double>
        there; // when the result of a pass is where it is needed
    std::vector<double> free(static_cast<std::size_t>(p), 0);
    std::vector<std::size_t> next(static_cast<std::size_t>(p), 0);
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t stage = 0; stage < order.size(); ++stage)
            for (; next[stage] < order[stage].size(); ++next[stage], moved = true) {
                const Pass& pass = order[stage][next[stage]];
                const bool turn = !pass.forward && pass.run + 1 == runs;
                double start = free[stage];
                if (!(pass.forward && pass.run == 0)) {
                    const std::int64_t from = turn ? pass.run : pass.forward ? pass.run - 1 : pass.run + 1;
                    const auto found = there.find({ pass.forward || turn, { from, pass.micro } });
                    if (found == there.end())
                        break;
                    start = std::max(start, found->second);
                }
                const bool hands = pass.forward ? pass.run + 1 < runs : pass.run > 0;
                free[stage] = start + (pass.forward ? forward : backward)[static_cast<std::size_t>(pass.run)]
                    + (hands ? sends[pass.forward ? 0 : 1] : 0);
                there[{ pass.forward, { pass.run, pass.micro } }] = free[stage];
            }
    }
    double out = 0;
    for (std::size_t stage = 0; stage < order.size(); ++stage)
        out = std::max(out, next[stage] == order[stage].size() ? free[stage] + update[stage] : 1e9);
    return out;
}

} // namespace shardboard
