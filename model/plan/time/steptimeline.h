// SPDX-License-Identifier: Apache-2.0
// A timeline of a step, made by scheduling its plan: on each kind of device what runs when, on its compute stream and on its links.
// It is small: layers and micro-batches that are alike are there once, and are told one by one only for the window of time that is
// asked about.
#pragma once

#include "model/plan/time/stepschedule.h"

#include <functional>
#include <string>
#include <vector>

namespace shardboard {

/// An operation, a collective or a part of it, a send to another stage, or gradients of weights that a stage has put off.
struct TimelineInterval {
    double start = 0;
    double end = 0;
    std::size_t stream = 0; ///< index into StepTimeline::streams()
    PlannedSegmentId segment {}; ///< none: of a send, or of gradients put off
    std::int64_t layer = -1; ///< its number in the model; -1: it is of no layer
    std::int64_t microBatch = 0;
    PlannedOpId operation {};
    CollectiveId collective {};
    PassKind pass = PassKind::Forward; ///< of a pipeline
    std::int64_t run = -1; ///< the same
    bool waited = false; ///< the compute stream does nothing meanwhile
};

/// Devices that do the same at the same time.
struct TimelineDevice {
    std::string name; ///< every device; stage 0; stages 1 to 6
    std::int64_t stage = 0; ///< the first of them; what stages alike do is told of it
    std::vector<std::int64_t> stages;
};

class StepTimeline {
public:
    /// `kernelShare`: of a device's computing that collectives take (kernelShareOf).
    StepTimeline(const Graph& graph, const Plan& plan, double kernelShare);
    StepTimeline(const StepTimeline&) = delete; // its pieces point into it
    StepTimeline& operator=(const StepTimeline&) = delete;

    double seconds() const { return m_schedule.seconds(); }
    const std::vector<std::string>& streams() const { return m_streams; }
    /// Stages that have as many layers of each kind are one: they do the same, but at other times.
    const std::vector<TimelineDevice>& devices() const { return m_devices; }
    const StepSchedule& schedule() const { return m_schedule; }
    const PipelineTurns& turns() const { return m_turns; } ///< of a pipeline

    using Each = std::function<void(const TimelineInterval&)>;
    /// Every interval of a stage's device that is in the window at least in part, stream by stream in no order.
    void visit(std::int64_t stage, double from, double to, const Each& each) const;
    void visit(std::int64_t stage, const Each& each) const { visit(stage, -1, 2 * seconds() + 1, each); }

    /// What decides how long a step takes, from its start to its end: without a pipeline what the compute stream does and waits
    /// for; with one the passes, sends and updates that wait for each other, from stage to stage.
    struct Step {
        std::int64_t stage = 0;
        double start = 0;
        double end = 0;
        TimelineInterval what; ///< of a pipeline: pass, run and micro-batch, no operation
        bool update = false;
        bool send = false;
    };
    std::vector<Step> criticalPath() const;

private:
    struct Recorded { ///< layers that run one after the other, from 0 on
        ScheduleRecord record;
        double seconds = 0;
    };
    struct Placing { ///< of what is recorded in the step
        double start = 0;
        double scale = 1;
        std::int64_t microBatch = 0;
        PassKind pass = PassKind::Forward;
        std::int64_t run = -1;
        double from = 0;
        double to = 0;
    };

    Recorded recorded(const std::vector<LayerRun>& sequence, std::int64_t microBatches, bool first, bool last) const;
    void visit(const ScheduleRecord& record, const Placing& placing, const Each& each) const;
    void tell(const ScheduledPiece& piece, const Placing& placing, double later, std::int64_t layers, std::int64_t micro,
              const Each& each) const;
    std::int64_t layerOf(const ScheduledPiece& piece, std::int64_t layer, std::int64_t run) const;
    void nameDevices();

    const Graph& m_graph;
    const Plan& m_plan;
    double m_kernelShare;
    StepSchedule m_schedule;
    StageSends m_sends;
    PipelineTurns m_turns;
    std::vector<std::string> m_streams;
    std::vector<TimelineDevice> m_devices;
    Recorded m_whole; ///< without a pipeline: passes, then the update
    std::vector<Recorded> m_forward; ///< by place in the sequences, as usual and in the first micro-batch
    std::vector<Recorded> m_firstForward;
    std::vector<Recorded> m_backward;
    std::vector<Recorded> m_lastBackward;
    std::vector<Recorded> m_updates;
};

} // namespace shardboard
