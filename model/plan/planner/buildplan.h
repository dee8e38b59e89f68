// SPDX-License-Identifier: Apache-2.0
// From graph and layouts to the plan: walks the operations in program order, lets the picker choose for each, and lists
// the collectives that its choices need.
#pragma once

#include "model/hardware/hardware.h"
#include "model/ops/workload.h"
#include "model/picker/pickeroptions.h"
#include "model/plan/memorysettings.h"
#include "model/plan/pin.h"
#include "model/plan/pipelinespec.h"
#include "model/plan/plan.h"

namespace shardboard {

/// What is planned, and for what. It refers to what it was made from, which must outlive the planning.
struct PlanRequest {
    const Graph& graph;
    const Mesh& mesh;
    const std::vector<Layout>& layouts; ///< of every weight and input, by TensorId (others are ignored)
    const Hardware& hardware;
    const PickerOptions& picker;
    const std::vector<Pin>& pins;
    /// Its micro-batches, overlap, optimizer sharding, software and types count; the graph has the rest of it already.
    const Workload& workload;
    const PipelineSpec& pipeline;
    MemorySettings memory {};
    std::int64_t besideBytes = 0; ///< Plan::besideBytes
};

/// A backward segment is planned once for each way in which its forward segment was, with the activations as those kept
/// them: of the layouts in which a value was made and last used, the one that takes less memory.
/// The cost does not grow with repeated layers or devices: a layer is planned once for each layout in which the residual stream
/// enters it.
Result<Plan> buildPlan(const PlanRequest& request);

} // namespace shardboard
