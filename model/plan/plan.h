// SPDX-License-Identifier: Apache-2.0
// The SPMD program: for every operation the layout of its operands and of its result, the collectives in between and
// why they are there. The engine runs it, views draw it, exporters write it. A value type without behaviour.
#pragma once

#include "model/core/layout.h"
#include "model/cost/kernelwork.h"
#include "model/ops/graph.h"
#include "model/ops/workload.h"
#include "model/picker/menu/refusal.h"
#include "model/plan/memorybytes.h"
#include "model/plan/memorysettings.h"
#include "model/plan/performance.h"
#include "model/plan/pipelinespec.h"
#include "model/plan/reshard/reshard.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shardboard {

struct Collective;
struct PlannedSegment;
struct PlannedOp;
using CollectiveId = Id<Collective>; ///< index into Plan::collectives
using PlannedSegmentId = Id<PlannedSegment>; ///< index into Plan::segments
using PlannedOpId = Id<PlannedOp>; ///< index into PlannedSegment::ops

struct Collective {
    std::string id; ///< unique in the plan, stable under edits elsewhere: `block/self_attn.o_proj/…`
    CollectiveKind kind = CollectiveKind::AllReduce;
    std::vector<int> axes;
    std::int64_t groupSize = 1; ///< devices in each device group
    TensorId tensor = kNoTensor;
    ReshardStep step;
    std::int64_t bytes = 0; ///< S, on one member of a device group, per occurrence
    std::int64_t count = 1; ///< occurrences in a step of the workload (repeated layers included)
    /// Of all that go in one call, of which `seconds` are this one's share; 0: it goes alone.
    std::int64_t groupBytes = 0;
    bool joins = false; ///< the call of such a group, but not its first one
    std::int64_t copies = 0; ///< of tokens that are sent once to a node: for how many experts each is; 0: sent to every one
    double seconds = 0; ///< predicted, per occurrence
    std::string algorithm; ///< with which it is so fast: `ring`, `NVLS`, …
    std::string link; ///< ids of the links it goes over, inner first: `nvlink4 + ib-ndr`
    PlannedSegmentId plannedSegment { 0 };
    OpId op {}; ///< the operation that wanted it
    int operand = 0;
    std::string cause; ///< in a few words, `o_proj [dim 1 = model], partial sums`
    std::string reason; ///< in a sentence
    bool isCall() const { return kind != CollectiveKind::LocalSlice && !joins; }
};

struct OperandUse {
    TensorId tensor = kNoTensor;
    Layout before; ///< layout in which the operand arrives
    Layout layout; ///< layout in which the operation takes it
    /// Indices into Plan::collectives, in order, from `before` to `layout`; then rings, of which one that an operation right
    /// before has started (its Collective::op) serves this one too.
    std::vector<CollectiveId> collectives;
    /// The resharded value takes the place of the tensor for all later uses, so that nobody pays for the same reshard
    /// twice: activations whose reshard moves data, and weights that another operation of the segment takes too (they are
    /// stored as before, and what was gathered goes with the segment). A mere slice keeps the whole value.
    bool replaces = false;
};

struct PlannedOp {
    OpId op {};
    std::vector<OperandUse> operands;
    Layout result;
    std::int64_t count = 1;
    KernelWork work; ///< of one device, per occurrence
    double seconds = 0; ///< predicted, per occurrence
    std::vector<int> unmet; ///< mesh axes on which no row meets a pin, so that the pin was left aside
};

/// An activation that is kept for the backward pass, and the layout in which it is kept.
struct Kept {
    TensorId tensor = kNoTensor;
    Layout layout;
    double share = 1; ///< of its bytes that are kept: a cast in 8 bits in its place, or beside it
};

/// A segment of the graph under one set of layouts. The layers of one graph segment can need several, when the residual
/// stream enters the first layer in another layout than the later ones.
struct PlannedSegment {
    SegmentId segment { 0 };
    std::string name; ///< block, or `block (layer 0)` where layers differ
    std::int64_t firstLayer = 0;
    std::int64_t count = 1;
    std::vector<PlannedOp> ops; ///< in program order
    Phase phase = Phase::Forward;
    std::vector<Kept> kept {}; ///< of a forward segment that has a backward one
    /// Bytes that the device with the most keeps beside them: of attention the log-sum-exp of every query and head, or its scores.
    std::int64_t statistics = 0;
    OffloadSet offload {}; ///< what of it lies in the host's memory
    /// What goes between the host and the fullest device while a layer works, each way, and how often in a step. Seconds are of
    /// all.
    struct HostTransfer {
        std::int64_t toHost = 0;
        std::int64_t toDevice = 0;
        std::int64_t count = 0;
        double seconds = 0;
        friend bool operator==(const HostTransfer&, const HostTransfer&) = default;
    };
    HostTransfer host {};
};

/// Stages of layers over a mesh axis: what a stage computes is on its own devices alone, and sent to the next one.
struct PlannedPipeline {
    int axis = -1;
    std::int64_t stages = 1;
    std::int64_t chunks = 1; ///< runs of layers on every stage; 1: schedule 1F1B, more: interleaved
    PipelineSchedule schedule = PipelineSchedule::OneForwardOneBackward;
    std::int64_t layers = 0; ///< of the model
    std::vector<std::int64_t> runEnds {}; ///< by run the layer behind its last; empty: runs are even, larger ones first
    std::int64_t busiestStage = 0; ///< the one that has the most to do
    double bubble = 0; ///< time in which it waits for other stages, by the time in which it works on its layers
    double stageSeconds = 0; ///< in which it works, forward and backward, of a step
    double endSeconds = 0; ///< part of it on embedding or head, which only one stage has
    double updateSeconds = 0;
    std::vector<MemoryByCause> memory {}; ///< the peak of every stage
    std::int64_t fullestStage = 0; ///< the one that needs the most; Plan::memory is its peak
    /// In which the busiest stage waits: filling and draining the pipeline.
    double bubbleSeconds() const { return bubble * (stageSeconds - endSeconds); }
    void setBubble(double seconds) { bubble = stageSeconds > endSeconds ? seconds / (stageSeconds - endSeconds) : 0; }
    double seconds() const { return stageSeconds + bubbleSeconds() + updateSeconds; }
    bool isDual() const { return schedule == PipelineSchedule::DualPipe && stages > 1; }
};

/// A step as one device has it: of a pipeline, a device of the busiest stage. Times are of a whole step.
struct DeviceStep {
    double compute = 0;
    double collectives = 0; ///< all of them, hidden or not
    double exposed = 0; ///< part of `collectives` in which it does not compute
    double bubble = 0; ///< in which it waits for other stages
    double seconds() const { return compute + exposed + bubble; } ///< Plan::seconds()
};

struct Plan {
    std::optional<PlannedPipeline> pipeline {};
    Mesh mesh;
    std::int64_t microBatches = 1; ///< forward and backward segments run so many times, the update once
    std::vector<Layout> layouts; ///< of weights and inputs as designed, by TensorId (activations: the last planned one)
    std::vector<PlannedSegment> segments; ///< in execution order
    std::vector<Collective> collectives; ///< in execution order
    /// Operations that the picker refused, in program order, each once; `where` is segment/operation. They are planned with
    /// greedy, as if nothing were refused.
    std::vector<std::pair<OpId, Refusal>> refused {};
    Overlap overlap = Overlap::None; ///< which collectives run beside the computation
    double kernelShare = 0; ///< of a device's computing that these take while they run (streamschedule.h)
    MemorySettings memorySettings {};
    HeldTypes held {}; ///< weights, gradients, and optimizer states
    bool keepsGathered = false; ///< weights of layers stay gathered until their gradients are there
    bool wholeGradients = false; ///< and gradients are added up as they come, and reduced once a step
    Fp8Settings fp8 {}; ///< of training in fp8
    bool fp8AnyOrder =
        false; ///< products in 8 bits take their operands in any order of the elements, so that none is kept transposed
    std::set<TensorId> fp8Weights {}; ///< those that products in fp8 take
    std::optional<DType> cacheType {}; ///< of the KV cache, where it is another one than that of what is written into it
    std::int64_t reservedBytes = 0; ///< of the hardware's device (DeviceSpec); part of what the runtime takes
    std::int64_t besideBytes = 0; ///< of a device: weights that no operation takes (ModelSpec::looseWeights); on the first stage
    MemoryByCause memory; ///< model/plan/memory/timeline.h fills it, and has it for every operation
    Performance performance {}; ///< filled where a whole design is evaluated
    double computeSeconds = 0;
    double collectiveSeconds = 0;
    double exposedSeconds = 0; ///< part of collectiveSeconds in which the devices do not compute, or by which they compute longer
    DeviceStep device {}; ///< what a share of the step is told of
    /// Of a step. The three sums above count the work of all stages of a pipeline.
    double seconds() const { return pipeline ? pipeline->seconds() : computeSeconds + exposedSeconds; }
    /// Sum of count x bytes, over all stages of a pipeline.
    std::int64_t collectiveBytes() const;
    /// Number of calls that move something: all but local slices.
    std::int64_t movingCollectives() const;
    const PlannedSegment& segment(PlannedSegmentId id) const { return segments[id]; }
    PlannedSegment& segment(PlannedSegmentId id) { return segments[id]; }
    const Collective& collective(CollectiveId id) const { return collectives[id]; }
    Collective& collective(CollectiveId id) { return collectives[id]; }
};

/// Names of the activations that a backward segment computes again, without those that are another one under another shape.
std::vector<std::string> recomputedIn(const Graph& graph, const PlannedSegment& segment);

} // namespace shardboard
