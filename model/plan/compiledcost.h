// SPDX-License-Identifier: Apache-2.0
// A plan boiled down to what its price depends on, so that a change of the hardware is priced in microseconds: alike kernels
// and alike collectives of a part of the step are counted together, names and layouts are left behind.
#pragma once

#include "model/cost/collectiveprices.h"
#include "model/plan/plan.h"
#include "model/plan/steptime.h"

#include <cstdint>
#include <memory>
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
    std::size_t collectives() const { return m_transfers.size(); }

private:
    struct Kernel {
        KernelWork work;
        double count = 0;
        std::size_t segment = 0;
    };
    struct Transfer {
        Collective what; ///< without texts, and layouts only of sends
        double count = 0;
        std::size_t segment = 0;
        bool weight = false; ///< moves a weight or its gradient
    };

    std::vector<Kernel> m_kernels;
    std::vector<Transfer> m_transfers;
    std::shared_ptr<const Mesh> m_mesh;
    std::shared_ptr<CollectivePrices> m_prices; ///< of the hardware that was asked for last
    Graph m_frame; ///< segments without operations
    Plan m_plan; ///< the same; mesh and pipeline
    std::vector<SegmentTime> m_times;
    DType m_dtype;
};

} // namespace shardboard
