// SPDX-License-Identifier: Apache-2.0
// Memory of a device while its step goes on, with the micro-batches that a stage has in flight at that time; MemoryTimeline has the
// moments of a stage that has as many of them as ever.
#pragma once

#include "model/plan/memory/timeline.h"
#include "model/plan/time/steptimeline.h"

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace shardboard {

class MemoryOverTime {
public:
    /// The plan must outlive it.
    MemoryOverTime(const Graph& graph, const Plan& plan, const StepTimeline& timeline, std::int64_t stage);

    /// While an operation of the stage runs for a micro-batch, `layer` -1 outside of the layers; nothing where it has none such.
    std::optional<MemoryBytes> at(PlannedSegmentId segment, OpId op, std::int64_t layer, std::int64_t microBatch) const;

private:
    struct Kept { ///< for the backward pass
        std::int64_t activations = 0;
        std::int64_t logits = 0;
        Kept& operator+=(const Kept& other);
        Kept& operator-=(const Kept& other);
    };

    void addPasses(const std::vector<PipelinePass>& passes);
    Kept ofRun(std::int64_t run) const;

    const Plan& m_plan;
    MemoryTimeline m_moments;
    std::map<std::tuple<int, int, std::int64_t>, std::size_t> m_places; ///< by planned segment, operation and layer
    std::vector<std::int64_t> m_keptBefore; ///< by layer: what all layers of the stage before it keep
    std::map<std::tuple<int, std::int64_t, std::int64_t>, Kept> m_others; ///< by pass, run and micro-batch: what other passes keep
    Kept m_atStart; ///< embedding, of the first run
    Kept m_atEnd; ///< head, of the last one
    std::vector<bool> m_behind; ///< by segment of the graph: behind the layers
};

} // namespace shardboard
