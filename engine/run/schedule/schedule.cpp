// SPDX-License-Identifier: Apache-2.0
#include "engine/run/schedule/schedule.h"

#include "engine/machine/failure.h"
#include "engine/run/schedule/stages.h"
#include "model/core/shards.h"
#include "model/ops/opdefinition.h"
#include "model/plan/pipeline.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardboard::engine {

namespace {

constexpr std::size_t kMostPasses = 100000;

class Scheduler {
public:
    Scheduler(const Program& program, const RunOptions& options)
        : m_program(program)
        , m_options(options)
    {
        const auto& segments = program.graph.segments;
        m_hasLayers = std::any_of(segments.begin(), segments.end(), [](const Segment& s) { return s.isLayer; });
    }

    std::vector<SegmentPass> schedule()
    {
        if (m_program.plan.pipeline && m_program.plan.pipeline->isDual())
            failPlan(
                "the engine keeps the weights of a stage on the devices of that stage, and DualPipe has them on two stages; run "
                "the schedule 1f1b, which computes the same",
                "plan.pipeline");
        for (const Op& op : m_program.graph.ops)
            if (!definitionOf(op.kind).runs)
                failPlan("the engine has no " + opKindName(op.kind) + ", which is priced only"
                             + (isStep(op.kind) ? "; run the design with Adam or SGD, whose gradients are the same" : ""),
                         "plan.operations");
        chooseLayers();
        divideAmongStages();
        for (std::int64_t microBatch = 0; microBatch < m_program.plan.microBatches; ++microBatch) {
            add(Phase::Forward, microBatch);
            add(Phase::Backward, microBatch);
            if (m_passes.empty())
                failPlan("there is nothing to run", "plan.layers");
        }
        add(Phase::Update, 0);
        return std::move(m_passes);
    }

private:
    const Segment& segmentOf(const PlannedSegment& planned) const { return m_program.graph.segment(planned.segment); }

    /// By forward segment of the graph the layers that run.
    void chooseLayers()
    {
        for (const PlannedSegment& planned : m_program.plan.segments) {
            const Segment& segment = segmentOf(planned);
            if (segment.phase != Phase::Forward || (m_hasLayers && !segment.isLayer && !m_options.ends))
                continue;
            auto& layers = m_layers[planned.segment];
            for (std::int64_t i = 0; i < planned.count; ++i) {
                if (segment.isLayer && m_options.layers > 0 && static_cast<std::int64_t>(layers.size()) >= m_options.layers)
                    break;
                if (layers.size() >= kMostPasses)
                    failPlan("the model has too many layers to be run; run fewer with --layers", planned.name);
                layers.insert(planned.firstLayer + i);
            }
        }
    }

    /// In the order in which they run forward.
    void divideAmongStages()
    {
        std::vector<std::pair<SegmentId, std::int64_t>> layers;
        const std::int64_t stages = Stages::virtualStageCount(m_program.plan);
        for (const PlannedSegment& planned : m_program.plan.segments) {
            const auto chosen = m_layers.find(planned.segment);
            if (planned.phase != Phase::Forward || chosen == m_layers.end())
                continue;
            const bool isLayer = segmentOf(planned).isLayer;
            for (std::int64_t i = planned.firstLayer; i < planned.firstLayer + planned.count; ++i) {
                if (!chosen->second.contains(i))
                    continue;
                if (isLayer)
                    layers.emplace_back(planned.segment, i);
                else
                    m_virtualStages[{ planned.segment, i }] = layers.empty() ? 0 : stages - 1;
            }
        }
        const auto& pipeline = m_program.plan.pipeline;
        if (pipeline && !pipeline->runEnds.empty() && std::ssize(layers) == pipeline->layers) {
            for (std::size_t i = 0; i < layers.size(); ++i)
                m_virtualStages[layers[i]] = runOfLayer(*pipeline, static_cast<std::int64_t>(i));
            return;
        }
        for (std::int64_t stage = 0; stage < stages; ++stage) {
            const Range part = balancedPart(static_cast<std::int64_t>(layers.size()), stages, stage);
            for (std::int64_t i = part.lo; i < part.hi; ++i)
                m_virtualStages[layers[static_cast<std::size_t>(i)]] = stage;
        }
    }

    void add(Phase phase, std::int64_t microBatch)
    {
        for (const PlannedSegment& planned : m_program.plan.segments) {
            const Segment& segment = segmentOf(planned);
            const auto layers = m_layers.find(phase == Phase::Forward ? planned.segment : segment.of);
            if (segment.phase != phase || layers == m_layers.end())
                continue;
            const auto first = layers->second.lower_bound(planned.firstLayer);
            const auto last = layers->second.lower_bound(planned.firstLayer + planned.count);
            std::vector<std::int64_t> order(first, last);
            if (phase == Phase::Backward)
                std::reverse(order.begin(), order.end());
            for (const std::int64_t layer : order) {
                if (m_passes.size() >= kMostPasses)
                    failPlan("the step has too many layers and micro-batches to be run; run fewer with --layers", planned.name);
                m_passes.push_back({ &planned, &segment, layer, microBatch, m_virtualStages[{ layers->first, layer }] });
            }
        }
    }

    const Program& m_program;
    const RunOptions& m_options;
    bool m_hasLayers = false;
    std::map<SegmentId, std::set<std::int64_t>> m_layers;
    std::map<std::pair<SegmentId, std::int64_t>, std::int64_t> m_virtualStages; ///< by forward segment of the graph and layer
    std::vector<SegmentPass> m_passes;
};

} // namespace

std::vector<SegmentPass> scheduleOf(const Program& program, const RunOptions& options)
{
    return Scheduler(program, options).schedule();
}

std::int64_t layersIn(const std::vector<SegmentPass>& passes)
{
    return std::count_if(passes.begin(), passes.end(), [](const SegmentPass& p) {
        return p.segment->isLayer && p.segment->phase == Phase::Forward && p.microBatch == 0;
    });
}

} // namespace shardboard::engine
