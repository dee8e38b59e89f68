// SPDX-License-Identifier: Apache-2.0
#include "model/timeline/predictedlanes.h"

#include "model/plan/time/memoryovertime.h"
#include "model/plan/time/steptimeline.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace shardboard {

namespace {

/// Shorter ones come from adding in another order.
constexpr double kNothing = 1e-9; ///< by the step

class Lanes {
public:
    Lanes(const Graph& graph, const Plan& plan, const Hardware& hardware, const PredictedLanesOptions& options)
        : m_graph(graph)
        , m_plan(plan)
        , m_options(options)
        , m_timeline(graph, plan, kernelShareOf(hardware.device))
        , m_limit(hardware.memoryBytes())
    {
        m_out.seconds = m_timeline.seconds();
        m_out.items = timelineItems(graph, plan);
        for (std::size_t i = 0; i < m_out.items.size(); ++i) {
            const TimelineItem& item = m_out.items[i];
            m_out.names.push_back(item.id);
            if (item.operation.valid())
                m_ofOperation[{ item.segment.number(), item.operation.number() }] = static_cast<std::int32_t>(i);
            else
                m_ofCollective[item.collective.number()] = static_cast<std::int32_t>(i);
        }
        for (const PlannedSegment& planned : plan.segments)
            m_segmentNames.push_back(
                nameIndex(planned.phase == Phase::Forward ? planned.name : planned.name + ", " + phaseName(planned.phase)));
        m_coarse = estimate() > options.mostIntervals;
    }

    Timeline make()
    {
        const std::int64_t stages = isStaged(m_plan) ? m_plan.pipeline->stages : 1;
        for (std::int64_t stage = 0; stage < stages && !stopped(); ++stage)
            addStage(stage);
        if (!stopped())
            addPath();
        if (m_coarse)
            m_out.notes.push_back("a step has too many operations to show each: a layer of a micro-batch is one interval");
        return std::move(m_out);
    }

private:
    bool stopped() const { return m_options.stop != nullptr && *m_options.stop; }

    /// Intervals of all stages: what runs so often in a step.
    std::size_t estimate() const
    {
        std::size_t out = 0;
        for (const PlannedSegment& planned : m_plan.segments)
            for (const PlannedOp& op : planned.ops)
                out += op.seconds > 0 ? static_cast<std::size_t>(op.count) : 0;
        for (const Collective& collective : m_plan.collectives)
            out += 2 * static_cast<std::size_t>(collective.count);
        return out;
    }

    std::uint32_t nameIndex(const std::string& name)
    {
        const auto [it, isNew] = m_names.emplace(name, static_cast<std::uint32_t>(m_out.names.size()));
        if (isNew)
            m_out.names.push_back(name);
        return it->second;
    }

    LaneInterval intervalOf(const TimelineInterval& it)
    {
        LaneInterval out { it.start,
                           it.end - it.start,
                           0,
                           -1,
                           static_cast<std::int32_t>(it.layer),
                           static_cast<std::int32_t>(it.microBatch),
                           IntervalKind::Forward };
        if (it.collective.valid()) {
            out.item = m_ofCollective.at(it.collective.number());
            out.name = static_cast<std::uint32_t>(out.item);
            out.kind = it.waited ? IntervalKind::Collective : IntervalKind::Hidden;
        } else if (it.segment.valid() && it.operation.valid()) {
            out.item = m_ofOperation.at({ it.segment.number(), it.operation.number() });
            out.name = static_cast<std::uint32_t>(out.item);
            out.kind = m_out.items[static_cast<std::size_t>(out.item)].drawn;
        } else if (it.stream == 0) {
            out.name = nameIndex("gradients of weights put off");
            out.kind = IntervalKind::Backward;
        } else if (it.segment.valid()) {
            out.name = nameIndex("copies to and from the host");
            out.kind = it.waited ? IntervalKind::Collective : IntervalKind::Hidden;
        } else {
            out.name = nameIndex("send to another stage");
            out.kind = it.waited ? IntervalKind::Collective : IntervalKind::Hidden;
        }
        return out;
    }

    void addPath()
    {
        for (const StepTimeline::Step& it : m_timeline.criticalPath())
            if (it.end > it.start && static_cast<std::size_t>(it.stage) < m_computeLanes.size())
                addToPath(m_out.path, { m_computeLanes[static_cast<std::size_t>(it.stage)], it.start, it.end });
    }

    void addStage(std::int64_t stage)
    {
        const bool staged = isStaged(m_plan);
        const std::string group = staged ? "stage " + std::to_string(stage) : "every device";
        std::vector<Lane> streams;
        for (const std::string& stream : m_timeline.streams())
            streams.push_back({ group, stream, true });
        using Key = std::tuple<std::size_t, int, std::int64_t, std::int64_t, int, bool>;
        std::map<Key, LaneInterval> coarse;
        m_timeline.visit(stage, [&](const TimelineInterval& it) {
            if (stopped() || it.end <= it.start)
                return;
            LaneInterval one = intervalOf(it);
            if (!m_coarse || !it.segment.valid()) {
                streams[it.stream].intervals.push_back(one);
                return;
            }
            one.item = -1;
            one.name = m_segmentNames[static_cast<std::size_t>(it.segment.number())];
            const Key key { it.stream, it.segment.number(), it.layer, it.microBatch, static_cast<int>(it.pass), it.waited };
            const auto [known, isNew] = coarse.emplace(key, one);
            if (!isNew) {
                const double end = std::max(known->second.end(), one.end());
                known->second.start = std::min(known->second.start, one.start);
                known->second.seconds = end - known->second.start;
            }
        });
        for (auto& [key, one] : coarse)
            streams[std::get<0>(key)].intervals.push_back(one);
        Lane compute { group, "compute", true };
        compute.intervals = streams.front().intervals;
        for (std::size_t i = 1; i < streams.size(); ++i)
            for (const LaneInterval& it : streams[i].intervals)
                if (it.kind == IntervalKind::Collective)
                    compute.intervals.push_back(it);
        clip(compute);
        addMemory(group, stage, compute);
        nameIdle(compute, stage);
        m_computeLanes.push_back(m_out.lanes.size());
        m_out.lanes.push_back(std::move(compute));
        for (std::size_t i = 1; i < streams.size(); ++i) {
            // Sends that the device waits for stand above already.
            const bool sends = streams[i].name.starts_with("sends");
            const bool waited = std::ranges::all_of(streams[i].intervals,
                                                    [](const LaneInterval& it) { return it.kind == IntervalKind::Collective; });
            if (!streams[i].intervals.empty() && !(sends && waited)) {
                clip(streams[i]);
                m_out.lanes.push_back(std::move(streams[i]));
            }
        }
    }

    /// In order of time, and none begins before the one before is over.
    static void clip(Lane& lane)
    {
        std::ranges::stable_sort(lane.intervals, {}, &LaneInterval::start);
        double at = 0;
        std::size_t kept = 0;
        for (LaneInterval it : lane.intervals) {
            const double end = it.end();
            it.start = std::max(it.start, at);
            it.seconds = end - it.start;
            if (it.seconds <= 0)
                continue;
            at = end;
            lane.intervals[kept++] = it;
        }
        lane.intervals.resize(kept);
    }

    /// Who makes what the next interval of a stage waits for.
    void nameIdle(Lane& lane, std::int64_t stage)
    {
        const double least = kNothing * m_out.seconds;
        fillIdle(lane, m_out.seconds, least, nameIndex("idle"));
        if (!isStaged(m_plan))
            return;
        const std::uint32_t fill = nameIndex("fill: waits for the first micro-batch");
        const std::uint32_t drain = nameIndex("drain: nothing left to do");
        const auto waits = [&](std::int64_t other) { return nameIndex("waits for stage " + std::to_string(other)); };
        const std::int64_t stages = m_plan.pipeline->stages;
        for (std::size_t i = 0; i < lane.intervals.size(); ++i) {
            LaneInterval& it = lane.intervals[i];
            if (it.kind != IntervalKind::Idle)
                continue;
            if (i + 1 == lane.intervals.size()) {
                it.name = drain;
            } else if (i == 0) {
                it.name = fill;
            } else if (m_plan.pipeline->isDual() || stages < 2) {
                it.name = nameIndex("waits for another stage");
            } else {
                const bool forward = lane.intervals[i + 1].kind == IntervalKind::Forward;
                it.name = waits(((forward ? stage - 1 : stage + 1) + stages) % stages);
            }
        }
    }

    /// What the device holds while it computes, by cause.
    void addMemory(const std::string& group, std::int64_t stage, const Lane& compute)
    {
        const MemoryOverTime memory(m_graph, m_plan, m_timeline, stage);
        MemoryLane out;
        out.group = group;
        out.predicted = true;
        out.limit = m_limit;
        std::vector<MemoryBytes> moments;
        for (const LaneInterval& it : compute.intervals) {
            if (it.item < 0)
                continue;
            const TimelineItem& item = m_out.items[static_cast<std::size_t>(it.item)];
            if (!item.operation.valid())
                continue;
            const OpId op = m_plan.segment(item.segment).ops[item.operation].op;
            const auto bytes = memory.at(item.segment, op, it.layer, it.microBatch);
            if (!bytes || (!moments.empty() && moments.back() == *bytes))
                continue;
            moments.push_back(*bytes);
            out.times.push_back(it.start);
        }
        if (moments.empty())
            return;
        for (const MemoryCause& cause : memoryCauses()) {
            std::vector<double> bytes;
            bytes.reserve(moments.size());
            for (const MemoryBytes& moment : moments)
                bytes.push_back(static_cast<double>(moment.*cause.bytes));
            if (std::ranges::none_of(bytes, [](double value) { return value > 0; }))
                continue;
            out.causes.emplace_back(cause.name);
            out.bytes.push_back(std::move(bytes));
        }
        if (!out.causes.empty())
            m_out.memory.push_back(std::move(out));
    }

    const Graph& m_graph;
    const Plan& m_plan;
    const PredictedLanesOptions& m_options;
    StepTimeline m_timeline;
    double m_limit;
    Timeline m_out;
    std::map<std::pair<int, int>, std::int32_t> m_ofOperation;
    std::map<int, std::int32_t> m_ofCollective;
    std::map<std::string, std::uint32_t> m_names; ///< beside those of items
    std::vector<std::uint32_t> m_segmentNames;
    std::vector<std::size_t> m_computeLanes; ///< by stage
    bool m_coarse = false;
};

} // namespace

Timeline predictedLanes(const Graph& graph, const Plan& plan, const Hardware& hardware, const PredictedLanesOptions& options)
{
    return Lanes(graph, plan, hardware, options).make();
}

} // namespace shardboard
