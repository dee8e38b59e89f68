// SPDX-License-Identifier: Apache-2.0
#include "model/plan/memory/timeline.h"

#include "model/ops/opdefinition.h"
#include "model/plan/largestshard.h"
#include "model/plan/memory/hosttransfers.h"
#include "model/plan/memory/segmentprofile.h"
#include "model/plan/memory/stagelayers.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardboard {

namespace {

/// Keys and values (or what they are made of) that stay for the tokens to come, as attention takes them.
std::int64_t cachedBytes(const Graph& graph, const Plan& plan, const PlannedSegment& segment)
{
    const Mesh& mesh = plan.mesh;
    const auto stays = [&](TensorId id) { return graph.entry(id).cached; };
    std::map<TensorId, Layout> layouts;
    for (const PlannedOp& op : segment.ops) {
        if (stays(graph.op(op.op).result))
            layouts[graph.op(op.op).result] = op.result;
        if (definitionOf(graph.op(op.op).kind).statistics != nullptr)
            for (const OperandUse& use : op.operands)
                if (stays(use.tensor))
                    layouts[use.tensor] = use.layout;
    }
    std::int64_t bytes = 0;
    for (const auto& [id, layout] : layouts)
        bytes += scaledBytes(
            bytesOf(largestShard(graph.tensor(id).shape, layout, mesh), plan.cacheType.value_or(graph.tensor(id).dtype)),
            graph.entry(id).cachedShare);
    return bytes;
}

/// What the driver keeps, the context, and one communicator for each set of mesh axes that something goes over.
std::int64_t runtimeBytes(const Plan& plan)
{
    std::set<std::vector<int>> sets;
    for (const Collective& collective : plan.collectives)
        if (collective.kind != CollectiveKind::LocalSlice && collective.groupSize > 1)
            sets.insert(collective.axes);
    return plan.reservedBytes + plan.memorySettings.contextBytes
        + static_cast<std::int64_t>(sets.size()) * plan.memorySettings.communicatorBytes;
}

/// What the allocator holds its reserve on top of.
double allocated(const AllocatorShare& allocator, const MemoryBytes& bytes)
{
    const auto sum = [](auto... parts) { return (static_cast<double>(parts) + ...); };
    const double comesAndGoes = sum(bytes.activations, bytes.logits, bytes.gathered, bytes.reshard);
    return allocator.ofAll ? sum(bytes.weights, bytes.masterWeights, bytes.optimizer, bytes.gradients, bytes.kvCache) + comesAndGoes
                           : comesAndGoes;
}

/// One stage, over a step.
class StageWalk {
public:
    StageWalk(const Graph& graph, const Plan& plan, const std::vector<SegmentProfile>& profiles, std::int64_t runtime,
              std::int64_t stage)
        : m_graph(graph)
        , m_plan(plan)
        , m_profiles(profiles)
        , m_facts(factsOf(plan.memorySettings.framework))
        , m_parts(stageParts(graph, plan, stage))
    {
        m_steady.runtime = runtime;
        m_steady.weights = stage == 0 ? plan.besideBytes : 0;
        m_trains = std::ranges::any_of(plan.segments, [](const PlannedSegment& s) { return s.phase == Phase::Update; });
        for (const StagePart& part : m_parts)
            addSteady(part);
        if (m_trains) {
            addStageBuffers(stage);
            m_steady.gradients += bytesOf(m_facts.bucketElements, plan.held.reductions);
        }
        if (m_trains && m_facts.blocksByStream)
            addStreams();
        // Micro-batches in flight beside the one that is worked on.
        const double others = std::max(0.0, microBatchesHeld(plan, stage) - 1);
        // The head's backward pass follows its forward pass, but for GPipe's, and where gradients of its weights are put off.
        const bool ends = plan.pipeline
            && (plan.pipeline->schedule == PipelineSchedule::GPipe || plan.pipeline->schedule == PipelineSchedule::ZeroBubble);
        for (const StagePart& part : m_parts)
            if (planned(part).phase == Phase::Forward && (segment(part).isLayer || ends)) {
                const std::int64_t away = part.layers - keepingLayers(part, part.layers);
                m_host += static_cast<std::int64_t>((others + 1) * static_cast<double>(away * profile(part).keptActivations));
                m_keptActivations += static_cast<std::int64_t>(
                    others * static_cast<double>(keepingLayers(part, part.layers) * profile(part).keptActivations));
                m_keptLogits += static_cast<std::int64_t>(others * static_cast<double>(part.layers * profile(part).keptLogits));
            }
    }

    /// What lies in the memory of the host when it is the most: weights, states with the gradients of the step that the host makes,
    /// and what the micro-batches in flight keep.
    std::int64_t hostBytes() const { return m_host; }

    std::int64_t keptActivations() const { return m_keptActivations; } ///< before it runs: of other micro-batches in flight
    std::int64_t keptLogits() const { return m_keptLogits; }

    enum class Layers { All, Turning };
    /// Calls `each(part, index of operation, layers done before, bytes)` for all layers, or for those that can need the most: from
    /// one of them to the next every cause grows or falls by the same amount from layer to layer.
    template <class Each>
    void run(Layers which, Each each)
    {
        for (std::size_t p = 0; p < m_parts.size(); ++p) {
            const StagePart& part = m_parts[p];
            for (std::int64_t done = 0; done < part.layers; done = which == Layers::All ? done + 1 : turning(part, done))
                for (std::size_t i = 0; i < profile(part).moments.size(); ++i)
                    each(part, i, done, at(p, done, profile(part).moments[i]));
            finish(part);
        }
    }

private:
    /// Towards the end fewer layers are gathered ahead, and the last one gathers for what follows.
    std::int64_t turning(const StagePart& part, std::int64_t done) const
    {
        const std::int64_t ahead = std::max<std::int64_t>(1, m_plan.memorySettings.prefetchedLayers);
        for (const std::int64_t next : { part.layers - 1 - ahead, part.layers - 2 })
            if (next > done)
                return next;
        return done < part.layers - 1 ? part.layers - 1 : part.layers;
    }

    const PlannedSegment& planned(const StagePart& part) const { return m_plan.segment(part.plannedSegment); }
    const Segment& segment(const StagePart& part) const { return m_graph.segment(planned(part).segment); }
    const SegmentProfile& profile(const StagePart& part) const { return m_profiles[part.plannedSegment]; }
    const SegmentProfile& forwardOf(const StagePart& part) const
    {
        return profile(part).keptFor.valid() ? m_profiles[profile(part).keptFor] : profile(part);
    }

    bool offloads(const StagePart& part, OffloadKind what) const { return planned(part).offload.has(what); }
    /// Of its layers, those whose kept activations stay on the device.
    std::int64_t keepingLayers(const StagePart& part, std::int64_t layers) const
    {
        return offloads(part, OffloadKind::Activations) ? 0 : layers;
    }
    /// Where copies to and from the host overlap, what one layer keeps is on its way while the next one works.
    std::int64_t onItsWay(const StagePart& part, std::int64_t done) const
    {
        const bool another = planned(part).phase == Phase::Forward ? done > 0
            : planned(part).phase == Phase::Backward               ? done + 1 < part.layers
                                                                   : false;
        return another && offloads(part, OffloadKind::Activations) && m_plan.overlap.has(OverlapKind::Host)
            ? forwardOf(part).keptActivations
            : 0;
    }

    /// Of a stage of a pipeline, its outputs in flight, and gradients of all.
    void addStageBuffers(std::int64_t stage)
    {
        if (!m_plan.pipeline || !m_facts.stageBuffers)
            return;
        const std::int64_t buffers = m_plan.microBatches + static_cast<std::int64_t>(microBatchesHeld(m_plan, stage));
        for (const StagePart& part : m_parts)
            if (const TensorId out = segment(part).carryOut; segment(part).isLayer && planned(part).phase == Phase::Forward) {
                const Layout& layout = m_plan.layouts[static_cast<std::size_t>(out)];
                m_steady.activations += buffers * shardBytes(m_graph, m_plan.mesh, out, layout);
                return;
            }
    }

    /// What the streams of gathers and reductions hold.
    void addStreams()
    {
        std::int64_t layer = 0; // of the largest one
        std::set<TensorId> atEnds;
        for (const StagePart& part : m_parts) {
            const SegmentProfile& what = profile(part);
            if (planned(part).phase == Phase::Forward) {
                std::map<int, std::int64_t> moved; // by block
                for (const auto& [weight, bytes] : what.gatheredOf)
                    if (what.moved.contains(weight) && (segment(part).isLayer || atEnds.insert(weight).second))
                        moved[m_graph.entry(weight).block] += bytes;
                for (const auto& [block, bytes] : moved)
                    if (block > 0 || segment(part).isLayer)
                        layer = std::max(layer, bytes);
                    else
                        m_gathers += bytes;
            } else if (planned(part).phase == Phase::Backward && (m_plan.microBatches == 1 || m_plan.wholeGradients)) {
                m_reductions += part.layers * what.reduced;
            }
        }
        m_gathers += layer;
    }

    /// The weights of a segment, but for those of blocks of their own.
    bool staysGathered(const StagePart& part) const
    {
        return m_plan.keepsGathered || (m_trains && m_facts.onlyOnce && !segment(part).isLayer);
    }

    /// What stays all the time.
    void addSteady(const StagePart& part)
    {
        const PlannedSegment& what = planned(part);
        if (what.phase == Phase::Forward) {
            std::set<TensorId> inLayer;
            std::int64_t& place = offloads(part, OffloadKind::Weights) ? m_host : m_steady.weights;
            for (const PlannedOp& op : what.ops)
                for (const OperandUse& use : op.operands)
                    if (m_graph.tensor(use.tensor).role == TensorRole::Weight
                        && (segment(part).isLayer ? inLayer : m_atEnds).insert(use.tensor).second)
                        place += part.layers * storedBytes(m_graph, m_plan, use.tensor);
            if (staysGathered(part))
                for (const auto& [weight, bytes] : profile(part).gatheredOf)
                    if ((m_plan.keepsGathered || m_graph.entry(weight).block == 0)
                        && (segment(part).isLayer || m_gatheredEnds.insert(weight).second))
                        m_steady.gathered += part.layers * bytes;
            if (!m_trains)
                m_steady.kvCache += part.layers * cachedBytes(m_graph, m_plan, what);
        } else if (what.phase == Phase::Backward && m_plan.microBatches > 1) {
            m_steady.gradients += part.layers
                * (m_plan.wholeGradients ? profile(part).reducedWhole
                                         : profile(part).reduced); // what micro-batches are added up in
        } else if (what.phase == Phase::Update) {
            const bool away = offloads(part, OffloadKind::Optimizer);
            for (const PlannedOp& op : what.ops) {
                const int moments = definitionOf(m_graph.op(op.op).kind).moments;
                if (moments == 0)
                    continue;
                const TensorSpec& weight = m_graph.tensor(m_graph.op(op.op).result);
                const std::int64_t elements = part.layers * largestShard(weight.shape, op.result, m_plan.mesh);
                (away ? m_host : m_steady.optimizer) += moments * bytesOf(elements, m_plan.held.optimizer);
                (away ? m_host : m_steady.masterWeights) += m_plan.held.copiesWeights() ? bytesOf(elements, m_plan.held.master) : 0;
                m_host += away && m_facts.hostSteps ? bytesOf(elements, m_plan.held.gradients) : 0;
            }
        }
    }

    MemoryBytes at(std::size_t index, std::int64_t done, const SegmentProfile::Moment& moment) const
    {
        const StagePart& part = m_parts[index];
        const SegmentProfile& forward = forwardOf(part);
        MemoryBytes bytes = m_steady;
        // Layers forward leave what they keep; layers backward take theirs away.
        const Phase phase = planned(part).phase;
        const std::int64_t layers = phase == Phase::Forward ? done : phase == Phase::Backward ? -(done + 1) : 0;
        bytes.kept = m_keptActivations + keepingLayers(part, layers) * forward.keptActivations + onItsWay(part, done);
        bytes.activations += bytes.kept + moment.activations;
        bytes.logits = m_keptLogits + layers * forward.keptLogits + moment.logits;
        bytes.gradients += moment.waiting;
        if (m_plan.microBatches == 1)
            bytes.gradients += m_reduced + (phase == Phase::Backward ? done * profile(part).reduced + moment.reduced : 0);
        bytes.gathered += gathers(part) + ahead(index, done, moment) + (m_plan.keepsGathered ? 0 : moment.gathered);
        bytes.reshard = moment.reshard;
        bytes.reserve = static_cast<std::int64_t>(m_plan.memorySettings.reserveShare * allocated(m_facts.allocator, bytes))
            + inStreams(index, done, moment);
        return bytes;
    }

    /// Of what other streams hold, what nobody uses at the moment.
    std::int64_t inStreams(std::size_t index, std::int64_t done, const SegmentProfile::Moment& moment) const
    {
        if (m_plan.microBatches > 1 || m_reductions == 0)
            return m_gathers + m_reductions;
        const StagePart& part = m_parts[index];
        const bool down = planned(part).phase == Phase::Backward;
        const std::int64_t used = m_reduced + (down ? done * profile(part).reduced + moment.reduced : 0);
        return m_gathers + m_reductions - used;
    }

    /// Weights that an operation of the layer finds gathered beside those that stay so, and those that came from the host for it.
    std::int64_t gathers(const StagePart& part) const
    {
        return (staysGathered(part) ? 0 : profile(part).gathered) + fetchedBytes(m_graph, m_plan, planned(part));
    }

    /// Weights gathered for the layers that come next, after blocks of the segment's own.
    std::int64_t ahead(std::size_t index, std::int64_t done, const SegmentProfile::Moment& moment) const
    {
        const StagePart& part = m_parts[index];
        const std::int64_t layers = m_plan.memorySettings.prefetchedLayers - moment.blocksAhead;
        if (planned(part).phase == Phase::Update)
            return 0;
        if (done + 1 < part.layers)
            return std::min(layers, part.layers - 1 - done) * gathers(part);
        if (layers == 0 || index + 1 == m_parts.size() || planned(m_parts[index + 1]).phase == Phase::Update)
            return 0;
        // The backward pass of what has just run finds it gathered.
        const StagePart& next = m_parts[index + 1];
        const bool same = profile(next).keptFor == part.plannedSegment;
        return same && !segment(next).isLayer ? 0 : std::min(layers, next.layers) * gathers(next);
    }

    void finish(const StagePart& part)
    {
        const Phase phase = planned(part).phase;
        const std::int64_t layers = phase == Phase::Forward ? part.layers : phase == Phase::Backward ? -part.layers : 0;
        m_keptActivations += keepingLayers(part, layers) * forwardOf(part).keptActivations;
        m_keptLogits += layers * forwardOf(part).keptLogits;
        if (phase == Phase::Backward && m_plan.microBatches == 1)
            m_reduced += part.layers * profile(part).reduced;
    }

    const Graph& m_graph;
    const Plan& m_plan;
    const std::vector<SegmentProfile>& m_profiles;
    const FrameworkFacts& m_facts;
    std::vector<StagePart> m_parts;
    bool m_trains = false;
    std::set<TensorId> m_atEnds; ///< weights outside of layers
    std::set<TensorId> m_gatheredEnds; ///< those that stay gathered
    MemoryBytes m_steady;
    std::int64_t m_keptActivations = 0;
    std::int64_t m_keptLogits = 0;
    std::int64_t m_reduced = 0; ///< gradients of the layers that are done
    std::int64_t m_gathers = 0; ///< buffers in the stream of gathers
    std::int64_t m_host = 0; ///< in the memory of the host
    std::int64_t m_reductions = 0; ///< reduced gradients in the stream of reductions
};

} // namespace

int MemoryTimeline::peak() const
{
    int best = -1;
    std::int64_t most = -1;
    for (std::size_t i = 0; i < moments.size(); ++i)
        if (const std::int64_t total = moments[i].bytes.total(); total > most) {
            most = total;
            best = static_cast<int>(i);
        }
    return best;
}

MemoryTimeline memoryTimeline(const Graph& graph, const Plan& plan, std::int64_t stage)
{
    MemoryTimeline out { stage, {} };
    if (stage < 0 || stage >= stageCount(plan))
        return out;
    const std::vector<SegmentProfile> profiles = segmentProfiles(graph, plan);
    StageWalk walk(graph, plan, profiles, runtimeBytes(plan), stage);
    out.othersKept = walk.keptActivations();
    out.othersLogits = walk.keptLogits();
    walk.run(StageWalk::Layers::All, [&](const StagePart& part, std::size_t op, std::int64_t done, const MemoryBytes& bytes) {
        const PlannedSegment& planned = plan.segment(part.plannedSegment);
        const bool isLayer = graph.segment(planned.segment).isLayer;
        const bool down = planned.phase == Phase::Backward;
        const std::int64_t layer = isLayer ? part.layerAt(down ? part.layers - 1 - done : done) : -1;
        out.moments.push_back({ part.plannedSegment, planned.ops[op].op, layer, bytes });
    });
    return out;
}

MemoryTimeline layerByLayer(const MemoryTimeline& timeline)
{
    MemoryTimeline out { timeline.stage, {} };
    for (const MemoryMoment& moment : timeline.moments) {
        MemoryMoment* last = out.moments.empty() ? nullptr : &out.moments.back();
        if (last == nullptr || last->plannedSegment != moment.plannedSegment || last->layer != moment.layer)
            out.moments.push_back(moment);
        else if (moment.bytes.total() > last->bytes.total())
            *last = moment;
    }
    return out;
}

std::vector<MemoryByCause> memoryPeaks(const Graph& graph, const Plan& plan)
{
    const std::vector<SegmentProfile> profiles = segmentProfiles(graph, plan);
    const std::int64_t runtime = runtimeBytes(plan);
    std::vector<MemoryByCause> out;
    for (std::int64_t stage = 0; stage < stageCount(plan); ++stage) {
        MemoryByCause peak;
        const PlannedSegment* segment = nullptr;
        OpId op;
        StageWalk walk(graph, plan, profiles, runtime, stage);
        walk.run(StageWalk::Layers::Turning, [&](const StagePart& part, std::size_t index, std::int64_t, const MemoryBytes& bytes) {
            const std::int64_t total = bytes.total();
            if (total <= peak.peak)
                return;
            static_cast<MemoryBytes&>(peak) = bytes;
            peak.peak = total;
            const AllocatorShare& allocator = factsOf(plan.memorySettings.framework).allocator;
            const double base = allocated(allocator, bytes);
            const double share = plan.memorySettings.reserveShare;
            // Blocks of other streams are given back before the allocator gives up.
            peak.least = total - bytes.reserve + static_cast<std::int64_t>(std::min(share, allocator.least) * base);
            peak.most = total + static_cast<std::int64_t>((std::max(share, allocator.most) - share) * base);
            segment = &plan.segment(part.plannedSegment);
            op = segment->ops[index].op;
        });
        peak.host = walk.hostBytes();
        if (segment != nullptr)
            peak.peakAt = segment->name + "/" + graph.op(op).name;
        out.push_back(std::move(peak));
    }
    return out;
}

void fillMemory(const Graph& graph, Plan& plan)
{
    std::vector<MemoryByCause> peaks = memoryPeaks(graph, plan);
    const auto fullest = std::ranges::max_element(peaks, [](const auto& a, const auto& b) { return a.peak < b.peak; });
    plan.memory = *fullest;
    if (plan.pipeline) {
        plan.pipeline->fullestStage = fullest - peaks.begin();
        plan.pipeline->memory = std::move(peaks);
    }
}

} // namespace shardboard
