// SPDX-License-Identifier: Apache-2.0
// How a plan asks the picker, in one place for the plan and for those who ask again to explain it.
#pragma once

#include "model/core/mesh.h"
#include "model/ops/graph.h"
#include "model/picker/pickeroptions.h"
#include "model/plan/pipelinespec.h"

#include <array>

namespace shardboard {

/// The mesh of which the picker knows: over the axis of a pipeline's stages nothing is cut.
Mesh pickedMesh(const Mesh& mesh, const PipelineSpec& pipeline);

/// The options with which the picker is asked about an operation, one after the other until it does not refuse: those of the
/// design (but for operations that say themselves what is to move), greedy without its policy, greedy with which anything may move.
std::array<PickerOptions, 3> pickAttempts(OpKind kind, const PickerOptions& options);

} // namespace shardboard
