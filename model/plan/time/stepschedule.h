// SPDX-License-Identifier: Apache-2.0
// A whole step: the layers of each kind of device on its streams, and the stages of a pipeline one beside the other. The timeline
// is told from it (steptimeline.h).
#pragma once

#include "model/plan/time/pipelineschedule.h"
#include "model/plan/time/streamschedule.h"

#include <utility>
#include <vector>

namespace shardboard {

/// Sends between the stages, of one micro-batch in seconds.
struct StageSends {
    double forward = 0;
    double backward = 0;
    /// Of the gradients of what both ends have: micro-batches add theirs up, so that a step waits for one.
    double atEnd = 0;
};
StageSends stageSends(const Graph& graph, const Plan& plan);
/// Which of these a send is part of, and by how often its seconds.
using SendPlace = std::pair<double StageSends::*, double>;
SendPlace sendPlace(const Graph& graph, const Plan& plan, const Collective& send);

/// Layers that come one after the other on a device.
struct StepSequences {
    std::vector<LayerRun> passes; ///< without a pipeline: forward and backward
    std::vector<LayerRun> update; ///< the same
    /// Of a pipeline, those that are different; and which of them each run of layers, and each stage, has.
    std::vector<std::vector<LayerRun>> forward;
    std::vector<std::vector<LayerRun>> backward;
    std::vector<std::vector<LayerRun>> updates;
    std::vector<std::size_t> forwardOf;
    std::vector<std::size_t> backwardOf;
    std::vector<std::size_t> updateOf;
};

class StepSchedule {
public:
    /// Of the plan's pipeline and micro-batches; the tasks can be priced anew.
    StepSchedule(const Graph& graph, const Plan& plan);

    StepTasks& tasks() { return m_tasks; }
    const StepTasks& tasks() const { return m_tasks; }
    const StepSequences& sequences() const { return m_sequences; }

    /// Schedules all of it. `kernelShare` as StreamSchedule has it.
    void run(const Plan& plan, const StageSends& sends, double kernelShare);

    double seconds() const { return m_seconds; }
    /// By PlannedSegmentId, of all layers, micro-batches and stages.
    const std::vector<SecondsByKind>& exposed() const { return m_exposed; }
    const PipelineTurns& turns() const { return m_turns; } ///< of a pipeline
    const std::vector<double>& updateSeconds() const { return m_updateSeconds; } ///< the same, by stage

private:
    void findSequences(const Graph& graph, const Plan& plan);
    void runPipeline(const Plan& plan, const StageSends& sends);
    double isolated(const std::vector<LayerRun>& sequence, bool first, bool last, double times);

    StepTasks m_tasks;
    StepSequences m_sequences;
    StreamSchedule m_stream; ///< whose lists are used again
    double m_kernelShare = 0;
    double m_seconds = 0;
    std::vector<SecondsByKind> m_exposed;
    PipelineTurns m_turns;
    std::vector<double> m_updateSeconds;
    bool m_hasFirst = false; ///< something is done in the first micro-batch alone
    bool m_hasLast = false;
};

/// Whether the plan has stages that wait for each other.
bool isStaged(const Plan& plan);

} // namespace shardboard
