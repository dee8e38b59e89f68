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

/// A step as a device of one stage has it; without a pipeline every device. Seconds are of a whole step.
struct StageSeconds {
    std::int64_t stage = 0;
    double passes = 0; ///< in which it works on its micro-batches, with the sends that it waits for
    double ends = 0; ///< the part of that on what is no layer
    double sends = 0; ///< the part of that in which it waits for its sends
    double update = 0;
    double bubble = 0; ///< in which it waits for other stages
    std::vector<double> exposed; ///< by StepTask::number
};

class StepSchedule {
public:
    /// Of the plan's pipeline and micro-batches; the tasks can be priced anew.
    StepSchedule(const Graph& graph, const Plan& plan);

    StepTasks& tasks() { return m_tasks; }
    const StepTasks& tasks() const { return m_tasks; }
    bool isSerial() const { return m_isSerial; } ///< nothing runs beside anything
    const StepSequences& sequences() const { return m_sequences; }
    /// How often a task is there in a step, of all layers, micro-batches and stages.
    double timesOf(std::size_t part, const StepTask& task) const;

    /// Schedules all of it. `kernelShare` as StreamSchedule has it.
    void run(const Plan& plan, const StageSends& sends, double kernelShare);

    double seconds() const { return m_seconds; }
    /// By StepTask::number, of all layers, micro-batches and stages.
    const std::vector<double>& exposed() const { return m_exposed; }
    double exposedSends() const { return m_exposedSends; } ///< the same of the sends between stages
    /// The stage that has the most to do. Made when asked for.
    StageSeconds busiest(const Plan& plan);
    PipelineTurns turns() const; ///< of a pipeline; made when asked for
    const std::vector<double>& updateSeconds() const { return m_updateSeconds; } ///< of a pipeline, by stage

private:
    struct LayerSeconds { ///< where nothing runs beside anything
        double always = 0;
        double first = 0; ///< more in the first micro-batch
        double last = 0;
    };
    void findSequences(const Graph& graph, const Plan& plan);
    void runSerialParts();
    void runPipeline(const Plan& plan, const StageSends& sends);
    double isolated(const std::vector<LayerRun>& sequence, bool first, bool last, double times);
    void add(const std::vector<LayerRun>& sequence, bool first, bool last, double times, StageSeconds& to);
    double computeOfEnds(const std::vector<LayerRun>& sequence, double times) const;

    StepTasks m_tasks;
    StepSequences m_sequences;
    std::vector<bool> m_isLayer; ///< by PlannedSegmentId
    std::vector<std::int64_t> m_layerTimes; ///< the same: how often a layer is run, of all of them and of all micro-batches
    std::vector<std::int64_t> m_layers; ///< the same, of one micro-batch
    StreamSchedule m_stream; ///< whose lists are used again
    double m_kernelShare = 0;
    double m_seconds = 0;
    double m_exposedSends = 0;
    double m_passes = 0; ///< without a pipeline: seconds of all but the update
    std::vector<double> m_exposed;
    std::vector<LayerSeconds> m_serialParts;
    PipelineTask m_pipeline;
    PipelineEnds m_ends;
    double m_atEnd = 0; ///< of the first and the last stage, behind their passes
    std::vector<double> m_updates; ///< by place in the sequences
    std::vector<double> m_updateSeconds;
    std::vector<double> m_forwardRuns; ///< by place in the sequences: of how many runs it is
    std::vector<double> m_backwardRuns;
    std::vector<double> m_updateStages;
    std::vector<RunSeconds> m_runs; ///< by place in the sequences
    bool m_isSerial = true; ///< nothing runs beside anything
    bool m_hasFirst = false; ///< something is done in the first micro-batch alone
    bool m_hasLast = false;
};

/// Whether the plan has stages that wait for each other.
bool isStaged(const Plan& plan);

} // namespace shardboard
