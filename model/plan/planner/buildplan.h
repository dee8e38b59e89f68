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

/// A backward segment is planned once for each way in which its forward segment was, with the activations as those kept
/// them: of the layouts in which a value was made and last used, the one that takes less memory.
/// `layouts` gives the layout of every weight and input by TensorId (others are ignored). The cost does not grow with
/// repeated layers or devices: a layer is planned once for each layout in which the residual stream enters it.
Result<Plan> buildPlan(const Graph& graph, const Mesh& mesh, const std::vector<Layout>& layouts, const PickerOptions& options,
                       const Hardware& hardware, const std::vector<Pin>& pins = {}, std::int64_t microBatches = 1,
                       const PipelineSpec& pipeline = {}, Overlap overlap = Overlap::None, const MemorySettings& memory = {},
                       const OptimizerSharding& optimizer = {}, Software software = Software::Fused, bool fp8Products = false);

} // namespace shardboard
