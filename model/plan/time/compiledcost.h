// SPDX-License-Identifier: Apache-2.0
// A plan boiled down to what its price depends on, so that a change of the hardware is priced in microseconds: alike kernels
// and alike collectives of a part of the step are counted together, names and layouts are left behind.
#pragma once

#include "model/cost/collectiveprices.h"
#include "model/plan/plan.h"
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
    std::size_t collectives() const { return m_transfers.size() + m_sends.size(); }

private:
    struct Kernel {
        KernelWork work;
        double count = 0;
        std::size_t segment = 0;
    };
    /// What is asked of the prices; the same for many collectives.
    struct Price {
        CollectiveKind kind = CollectiveKind::AllReduce;
        std::vector<int> axes;
        std::int64_t bytes = 0;
        std::int64_t copies = 0;
        friend bool operator==(const Price&, const Price&) = default;
    };
    struct Transfer {
        std::size_t price = 0; ///< index into m_questions
        double count = 0;
        std::size_t segment = 0;
        OverlapKind kind = OverlapKind::Tensor;
    };

    void askPrices();
    void waitForHost(const KernelConstants& kernels);

    std::vector<Kernel> m_kernels;
    std::vector<Transfer> m_transfers;
    std::vector<std::pair<Collective, double>> m_sends; ///< between stages, with their number
    std::vector<Price> m_questions;
    std::vector<double> m_answers; ///< seconds
    double m_sendSeconds = 0; ///< of all of m_sends
    std::uint64_t m_asked = 0; ///< edition of the prices that these are
    std::shared_ptr<const Mesh> m_mesh;
    std::shared_ptr<CollectivePrices> m_prices; ///< of the hardware that was asked for last
    Graph m_frame; ///< segments without operations
    Plan m_plan; ///< the same; mesh and pipeline
    std::vector<SegmentTime> m_times;
    DType m_dtype;
};

} // namespace shardboard
