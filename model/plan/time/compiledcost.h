// SPDX-License-Identifier: Apache-2.0
// A plan boiled down to what its price depends on, so that a change of the hardware is priced in microseconds: alike kernels and
// alike collectives are asked about once, and go into the tasks of its schedule; names and layouts are left behind.
#pragma once

#include "model/cost/collectiveprices.h"
#include "model/plan/plan.h"
#include "model/plan/time/hosttime.h"
#include "model/plan/time/steptime.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace shardboard {

/// What a step costs on some hardware.
struct StepCost {
    double seconds = 0;
    double computeSeconds = 0; ///< of all stages of a pipeline
    double collectiveSeconds = 0; ///< the same
    double exposedSeconds = 0; ///< part of it in which the devices do not compute
    Performance performance;
    MemoryBytes memory; ///< at the peak of the fullest device
    std::int64_t peakBytes = 0;
    bool fits = true; ///< the peak, into the memory of a device
};

class CompiledCost {
public:
    /// Keeps nothing of the graph and the plan. `dtype` is that of the workload.
    CompiledCost(const Graph& graph, const Plan& plan, DType dtype);

    /// As reprice() has it: the seconds are the same but for the order of sums.
    StepCost on(const Hardware& hardware);

    std::size_t kernels() const { return m_kernels.size(); } ///< that are priced
    std::size_t collectives() const { return m_questions.size() + m_sends.size(); }

private:
    /// What is asked of the prices; the same for many collectives.
    struct Price {
        CollectiveKind kind = CollectiveKind::AllReduce;
        std::vector<int> axes;
        std::int64_t bytes = 0;
        std::int64_t copies = 0;
        friend bool operator==(const Price&, const Price&) = default;
    };
    struct Share { ///< of a task's seconds, of one layer and micro-batch
        std::size_t of = 0; ///< index into m_kernels or m_questions
        std::size_t task = 0; ///< index into m_places
        double times = 0;
    };
    struct Place { ///< of a task in the schedule
        std::size_t part = 0;
        std::size_t index = 0;
        double times = 0; ///< in a step
    };

    /// What the host starts, in order: an operation or a collective that the device waits for.
    struct HostEntry {
        std::size_t of = 0; ///< index into m_kernels or m_questions
        double times = 0; ///< in a layer and micro-batch
        std::size_t place = 0; ///< index into m_places, of an operation
        bool moves = false; ///< a collective
        bool putOff = false; ///< makes the gradient of a weight, which the schedule puts off
    };
    struct HostPart {
        std::vector<HostEntry> entries;
        double passes = 1;
    };

    void compile(const Graph& graph, const Plan& plan);
    void compileHost(const Graph& graph, const Plan& plan, const StepTasks& tasks, const std::vector<std::uint32_t>& placeOf);
    std::size_t questionOf(const Plan& plan, const Collective& collective);
    bool putsOff(const Graph& graph, const Plan& plan, std::size_t part, const PlannedOp& op) const;
    void addOperations(const Graph& graph, const Plan& plan, std::size_t part, const StepTask& task, std::size_t place);
    void addCollective(const Plan& plan, const StepTask& task, std::size_t place);
    static void add(std::vector<Share>& to, const Share& share);
    StepTask& task(const Place& place) { return m_schedule.tasks().parts[place.part].tasks[place.index]; }
    void askPrices();
    void findStreams();
    void priceKernels(const Hardware& hardware);
    void waitForHost(const KernelConstants& kernels);
    void waitForHost(std::size_t part);

    StepSchedule m_schedule;
    std::vector<Place> m_places; ///< by number
    std::vector<KernelWork> m_kernels;
    std::vector<Share> m_computing; ///< what tasks have of kernels
    std::vector<Share> m_moving; ///< and of collectives
    std::vector<Share> m_gradients; ///< what parts have of kernels that make gradients of weights; here the task is the part
    std::vector<std::pair<Collective, SendPlace>> m_sends; ///< between stages, and what each is part of
    std::vector<double> m_sendCounts; ///< how often each is there in a step
    std::vector<Price> m_questions;
    std::vector<double> m_answers; ///< seconds
    StageSends m_sendSeconds;
    double m_allSends = 0; ///< seconds of all of m_sends in a step
    std::uint64_t m_asked = 0; ///< edition of the prices that these are
    std::shared_ptr<const Mesh> m_mesh;
    std::shared_ptr<CollectivePrices> m_prices; ///< of the hardware that was asked for last
    Plan m_plan; ///< segments without operations; mesh and pipeline
    std::vector<double> m_seconds; ///< of the kernels
    std::vector<double> m_host; ///< the same, in which the host starts them
    std::vector<double> m_byPart; ///< of segments, computing
    std::vector<HostPart> m_hostParts; ///< by segment
    std::vector<HostStep> m_hostSteps; ///< of one of them
    std::vector<double> m_waits; ///< by these
    DType m_dtype;
};

} // namespace shardboard
