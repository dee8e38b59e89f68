// SPDX-License-Identifier: Apache-2.0
// What one device does in a layer, in the order in which it is started: runs of operations and collectives, with what waits for
// what. A plan boiled down to what its schedule depends on; made once, and priced as often as one likes.
#pragma once

#include "model/plan/plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

/// How a task shares its device's time with the others.
enum class TaskMode : std::uint8_t {
    Compute, ///< operations, on the compute stream
    Serial, ///< a collective that the design does not let run beside anything: the compute stream waits for it
    Early, ///< a gather of weights: started with the layer before, and waited for where an operation takes the weight
    Late, ///< a reduction of gradients: nobody waits for it but the end of the next layer, and the update
    /// Tokens to experts and back: two halves of a micro-batch take turns, so that only the end of the layer waits. Of the host's
    /// memory: what comes and goes while the layer works.
    Within,
    BesideNext, ///< in pieces, beside the operations behind it, which start with the first piece and end after the last
    BesideLast, ///< in pieces, beside the operations before it, which make the pieces
};

/// In which micro-batches a task is there.
enum class TaskWhen : std::uint8_t { Always, First, Last };

struct StepTask {
    TaskMode mode = TaskMode::Compute;
    TaskWhen when = TaskWhen::Always;
    bool isNext = false; ///< of Late: goes on with what the one before it made, on another link
    OverlapKind kind = OverlapKind::Tensor; ///< of a collective
    std::uint8_t stream = 0; ///< 0: compute; else a link, an index into StepTasks::streams
    std::uint32_t number = 0; ///< among the tasks of all parts (StepTasks::number)
    double seconds = 0; ///< of one layer and micro-batch
    double occurrences = 1; ///< of its operations or collective in that
    double pieces = 1; ///< of a collective that runs beside operations: one from each device of its group
    std::size_t firstOp = 0; ///< of Compute: indices into PlannedSegment::ops
    std::size_t endOp = 0;
    CollectiveId collective {}; ///< of the other modes; none: copies between the host and the device
};

/// A planned segment, one layer of it.
struct StepPart {
    std::vector<StepTask> tasks;
    Phase phase = Phase::Forward;
    double weightGradients = 0; ///< seconds of its operations whose results are gradients of weights
    bool isSerial() const; ///< nothing runs beside anything
};

struct StepTasks {
    std::vector<StepPart> parts; ///< by PlannedSegmentId
    std::size_t count = 0; ///< of the tasks of all parts
    void number(); ///< the tasks, in order
    std::uint8_t streamOf(const std::string& link); ///< added where there is none of that name
    /// The first is the compute stream; each link that a collective reaches as its farthest has one.
    std::vector<std::string> streams { "compute" };
};

/// The same with fewer tasks, where nothing runs beside anything, so that their order does not matter: of each part the operations
/// together, and the collectives of each micro-batch. `placeOf`: by StepTask::number, the number of the task that has its seconds.
StepTasks merged(const StepTasks& tasks, std::vector<std::uint32_t>& placeOf);

/// Whether its result is the gradient of a weight.
bool makesWeightGradient(const Graph& graph, const PlannedOp& op);

/// Sends between the stages of a pipeline are not among them.
StepTasks stepTasks(const Graph& graph, const Plan& plan);

} // namespace shardboard
