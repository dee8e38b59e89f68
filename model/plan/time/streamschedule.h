// SPDX-License-Identifier: Apache-2.0
// Runs the tasks of layers on the streams of one device: what waits for what, and for how long. Layers and micro-batches that come
// out as the one before are not run again but counted.
//
//   compute   operations in program order
//   a link    first what the compute stream waits for or runs beside in pieces, then halves of tokens to experts, then weights
//             ahead, then gradients; of these each goes on where it was interrupted. A link carries one collective at a time.
//             Gradients that go on over another link do so after the layer that waits for them.
//
// Operations beside a collective take longer: by the share of the device's multiprocessors that collectives keep (kernelShare).
#pragma once

#include "model/hardware/devicespec.h"
#include "model/plan/time/steptasks.h"

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace shardboard {

/// A task on its stream, or a part of it.
struct ScheduledPiece {
    double start = 0;
    double end = 0;
    const StepTask* task = nullptr;
    PlannedSegmentId part {};
    std::int64_t layer = 0; ///< counted from the first that the part runs
    std::int64_t microBatch = 0;
    bool waited = false; ///< the compute stream waits meanwhile
};

/// The pieces from `first` up to `end` come `times` more, each time later by `stride` and of the next layers or micro-batch.
struct ScheduledRepeat {
    std::size_t first = 0;
    std::size_t end = 0;
    std::int64_t times = 0;
    double stride = 0;
    bool layers = false; ///< of layers, else of micro-batches
};

struct ScheduleRecord {
    std::vector<ScheduledPiece> pieces; ///< as they were placed
    std::vector<ScheduledRepeat> repeats; ///< inner ones before outer ones
    std::size_t border = 0; ///< pieces before it are of layers that are over
};

/// A part and how many of its layers run.
struct LayerRun {
    PlannedSegmentId part {};
    std::int64_t layers = 1;
};

/// Share of a device's computing that collectives take from operations which run beside them: DeepSeek-V3 gives them 20 of the 132
/// multiprocessors of an H800, which are as many as its links need (arXiv 2412.19437, sections 3.2.2 and 3.5.1). TPUs and CPUs that
/// play devices have others for it: 0.
double kernelShareOf(const DeviceSpec& device);

class StreamSchedule {
public:
    /// Empty streams at time 0. `kernelShare`: of the device's computing that a collective takes, in [0, 1). The tasks must outlive
    /// the run, and a record.
    void restart(const StepTasks& tasks, double kernelShare, ScheduleRecord* record = nullptr);
    /// Layer after layer, `microBatches` times. The first and the last of them have what is done once a step.
    void run(const std::vector<LayerRun>& sequence, std::int64_t microBatches, bool first, bool last);
    /// Until all links are done.
    void drain();

    double now() const { return m_now; }
    /// By StepTask::number, of collectives: seconds in which the devices do not compute, or by which computing takes longer.
    const std::vector<double>& exposed() const { return m_exposed; }

private:
    enum Rank { Halves, Ahead, Behind, kRanks };
    struct Job {
        const StepTask* task;
        PlannedSegmentId part;
        double left;
        std::int64_t unit; ///< number of the layer that has it, from the start
        std::int64_t layer;
        std::int64_t microBatch;
    };
    struct Placed { ///< what the compute stream waits for or runs beside
        const StepTask* task;
        PlannedSegmentId part;
        double start;
        double end;
    };
    struct Link {
        double clock = 0; ///< up to which it is accounted for
        std::vector<Placed> placed; ///< in order of time, from `clock` on
        std::array<std::vector<Job>, kRanks> jobs;
        double backlog() const;
    };
    struct Unit { ///< a layer
        PlannedSegmentId part {};
        std::int64_t layer = 0;
        std::int64_t microBatch = 0;
        bool first = false; ///< of the step's micro-batches
        bool last = false;
    };
    /// At the border of two layers: what of it decides how the next one comes out, and the sums.
    struct State {
        double now = 0;
        std::vector<double> ahead; ///< of each link and rank the number of its jobs, and of each what is left and of whom it is
        std::vector<double> exposed;
    };

    static constexpr double kNever = std::numeric_limits<double>::infinity();

    void unit(const Unit& which, const Unit& next);
    void enqueue(const Unit& which, TaskMode mode, std::int64_t number);
    void compute(PlannedSegmentId part, const StepTask& task);
    void serial(PlannedSegmentId part, const StepTask& task);
    std::size_t besideNext(const Unit& which, const std::vector<StepTask>& tasks, std::size_t index);
    void placeBesideLast(PlannedSegmentId part, const StepTask& run, const StepTask& collective);
    void startNext();
    void waitForTask(const StepTask& task, std::int64_t number);
    void waitForRank(Rank rank, std::int64_t before);
    void waitForPlaced(Link& link);
    void waitUntil(Link& link, double time);
    void sync();
    void pull(Link& link, double time, double share);
    void runSerial(const std::vector<LayerRun>& sequence, std::int64_t microBatches, bool first, bool last);
    void credit(const StepTask& task, double seconds) { m_exposed[task.number] += seconds; }
    void record(const ScheduledPiece& piece);
    bool busy(const Link& link, double& until) const;
    Link& linkOf(const StepTask& task) { return m_links[static_cast<std::size_t>(task.stream) - 1]; }
    void note(State& out) const;
    void skip(const State& before, std::int64_t times, std::size_t firstPiece, bool layers);
    static bool alike(const State& a, const State& b);
    static bool isThere(const StepTask& task, const Unit& unit);

    const StepTasks* m_tasks = nullptr;
    double m_share = 0;
    double m_now = 0;
    std::vector<Link> m_links;
    std::vector<double> m_exposed;
    std::int64_t m_unit = 0;
    std::vector<Job> m_next; ///< of the last layer: what goes on with its gradients, when these are there
    std::vector<Job> m_nextOfThis; ///< of the layer that runs
    bool m_cold = true; ///< nothing was fetched ahead for the layer that comes
    std::size_t m_underWay = 0; ///< jobs and what is placed, on all links
    ScheduleRecord* m_record = nullptr;
    Unit m_at; ///< the layer that runs
    State m_before; ///< of layers
    State m_after;
    State m_microBefore; ///< of micro-batches
    State m_microAfter;
};

} // namespace shardboard
