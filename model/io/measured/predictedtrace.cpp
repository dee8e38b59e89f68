// SPDX-License-Identifier: Apache-2.0
#include "model/io/measured/predictedtrace.h"

#include "model/plan/time/memoryovertime.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr std::size_t kMostIntervals = 500000; ///< of operations and collectives, so that viewers open the file

constexpr double kMicroseconds = 1e6;

std::string passName(PassKind pass)
{
    return pass == PassKind::Forward ? "forward" : pass == PassKind::Backward ? "backward" : "gradients of weights";
}

class PredictedTrace {
public:
    PredictedTrace(const Graph& graph, const Plan& plan, const StepTimeline& timeline)
        : m_graph(graph)
        , m_plan(plan)
        , m_timeline(timeline)
    {
    }

    json write()
    {
        const std::int64_t stages = isStaged(m_plan) ? m_plan.pipeline->stages : 1;
        for (std::int64_t stage = 0; stage < stages; ++stage) {
            const auto shown = std::ranges::find(m_timeline.devices(), stage, &TimelineDevice::stage);
            const std::string name = isStaged(m_plan) ? "stage " + std::to_string(stage) : "every device";
            addName(stage, std::nullopt, "process_name", name);
            addStage(stage, shown != m_timeline.devices().end());
        }
        addCriticalPath(stages);
        json list = std::move(m_names);
        std::ranges::stable_sort(m_events, {}, &Timed::time);
        for (Timed& event : m_events)
            list.push_back(std::move(event.value));
        return { { "displayTimeUnit", "ms" },
                 { "traceEvents", std::move(list) },
                 { "otherData", { { "predicted by", "shardctl plan" }, { "executions left out", std::to_string(m_leftOut) } } } };
    }

private:
    struct Timed {
        double time;
        json value;
    };

    void addName(std::int64_t device, std::optional<std::size_t> thread, const char* what, const std::string& name)
    {
        m_names.push_back({ { "ph", "M" },
                            { "pid", device + 1 }, // viewers take process 0 for the idle task
                            { "tid", thread ? *thread + 1 : 0 },
                            { "ts", 0 },
                            { "name", what },
                            { "args", { { "name", name } } } });
    }

    void addSlice(std::int64_t device, std::size_t thread, double start, double end, const std::string& name, const char* category,
                  json args)
    {
        const double from = kMicroseconds * start;
        m_events.push_back({ from,
                             { { "ph", "X" },
                               { "pid", device + 1 },
                               { "tid", thread + 1 },
                               { "ts", from },
                               { "dur", kMicroseconds * end - from },
                               { "name", name },
                               { "cat", category },
                               { "args", std::move(args) } } });
    }

    json argumentsOf(const TimelineInterval& it) const
    {
        json args { { "layer", it.layer }, { "micro-batch", it.microBatch }, { "seconds", it.end - it.start } };
        if (it.run >= 0) {
            args["pass"] = passName(it.pass);
            args["run"] = it.run;
        } else if (it.segment.valid()) {
            args["pass"] = phaseName(m_plan.segment(it.segment).phase);
        }
        if (!it.collective.valid())
            return args;
        const Collective& collective = m_plan.collective(it.collective);
        args["Collective name"] = collectiveName(collective.kind);
        args["Group size"] = collective.groupSize;
        args["bytes"] = collective.bytes;
        args["link"] = collective.link;
        args["waited"] = it.waited;
        return args;
    }

    void addStage(std::int64_t stage, bool operations)
    {
        const std::size_t lanes = m_timeline.streams().size();
        for (std::size_t lane = 0; lane < lanes; ++lane)
            addName(stage, lane, "thread_name", m_timeline.streams()[lane]);
        if (isStaged(m_plan)) {
            addName(stage, lanes + 1, "thread_name", "passes");
            for (const PipelinePass& pass : m_timeline.turns().stages[static_cast<std::size_t>(stage)])
                addSlice(stage, lanes + 1, pass.start, pass.end, passName(pass.kind) + " " + std::to_string(pass.microBatch),
                         "pass", { { "micro-batch", pass.microBatch }, { "run", pass.run } });
        }
        if (!operations)
            return;
        const StageLanes all = stageLanes(m_plan, m_timeline, stage);
        addName(stage, lanes, "thread_name", "idle");
        for (const IdleInterval& it : all.idle) {
            json args { { "seconds", it.end - it.start } };
            if (it.cause != IdleCause::Bubble)
                args["waits for"] = intervalName(m_graph, m_plan, it.of);
            addSlice(stage, lanes, it.start, it.end, idleCauseName(it.cause), "idle", std::move(args));
        }
        const MemoryOverTime memory(m_graph, m_plan, m_timeline, stage);
        for (std::size_t lane = 0; lane < lanes; ++lane)
            for (const TimelineInterval& it : all.lanes[lane].intervals) {
                if (++m_intervals > kMostIntervals) {
                    ++m_leftOut;
                    continue;
                }
                addSlice(stage, lane, it.start, it.end, intervalName(m_graph, m_plan, it), lane == 0 ? "kernel" : "collective",
                         argumentsOf(it));
                if (lane == 0 && it.segment.valid() && it.operation.valid())
                    addMemory(stage, it, memory);
            }
    }

    void addMemory(std::int64_t stage, const TimelineInterval& it, const MemoryOverTime& memory)
    {
        const PlannedOp& op = m_plan.segment(it.segment).ops[it.operation];
        const auto bytes = memory.at(it.segment, op.op, it.layer, it.microBatch);
        if (!bytes)
            return;
        const double at = kMicroseconds * it.start;
        m_events.push_back({ at,
                             { { "ph", "C" },
                               { "pid", stage + 1 },
                               { "tid", 0 },
                               { "ts", at },
                               { "name", "memory" },
                               { "args", { { "bytes", bytes->total() } } } } });
    }

    void addCriticalPath(std::int64_t process)
    {
        addName(process, std::nullopt, "process_name", "critical path");
        addName(process, 0, "thread_name", "critical path");
        std::size_t number = 0;
        for (const StepTimeline::Step& it : m_timeline.criticalPath()) {
            if (++number > kMostIntervals) {
                ++m_leftOut;
                continue;
            }
            const std::string name = it.update ? "update"
                : it.send                      ? intervalName(m_graph, m_plan, sendOf(it.what))
                : isStaged(m_plan)             ? passName(it.what.pass) + " " + std::to_string(it.what.microBatch)
                                               : intervalName(m_graph, m_plan, it.what);
            addSlice(process, 0, it.start, it.end, name, "critical", { { "stage", it.stage } });
        }
    }

    static TimelineInterval sendOf(TimelineInterval pass)
    {
        pass.stream = 1;
        return pass;
    }

    const Graph& m_graph;
    const Plan& m_plan;
    const StepTimeline& m_timeline;
    json m_names = json::array();
    std::vector<Timed> m_events;
    std::size_t m_intervals = 0;
    std::size_t m_leftOut = 0;
};

} // namespace

json predictedTrace(const Graph& graph, const Plan& plan, const StepTimeline& timeline)
{
    return PredictedTrace(graph, plan, timeline).write();
}

json timelineJson(const Plan& plan, const StepTimeline& timeline)
{
    json devices = json::array();
    for (const TimelineDevice& device : timeline.devices()) {
        const StageLanes all = stageLanes(plan, timeline, device.stage);
        json streams = json::array();
        for (const TimelineLane& lane : all.lanes) {
            double busy = 0;
            for (const TimelineInterval& it : lane.intervals)
                busy += it.end - it.start;
            streams.push_back({ { "name", lane.name }, { "busy_seconds", busy }, { "intervals", lane.intervals.size() } });
        }
        json idle = json::object();
        for (const IdleCause cause : kIdleCauses) {
            double seconds = 0;
            for (const IdleInterval& it : all.idle)
                seconds += it.cause == cause ? it.end - it.start : 0;
            idle[idleCauseName(cause)] = seconds;
        }
        devices.push_back({ { "name", device.name },
                            { "stages", device.stages },
                            { "streams", std::move(streams) },
                            { "idle_seconds", std::move(idle) } });
    }
    return { { "seconds", timeline.seconds() }, { "devices", std::move(devices) } };
}

} // namespace shardboard
