// SPDX-License-Identifier: Apache-2.0
// The programs of the conformance suite's whole models, made by the design's presets and evaluation, of which the engine knows
// nothing.
#pragma once

#include "engine/conformance/conformance.h"
#include "engine/conformance/modelcases.h"
#include "model/design/design.h"

namespace shardboard::conformance {

/// Of a model on a mesh such as `data=2,model=2`, laid out by a preset. Errors are those of the mesh, the preset, and the
/// evaluation.
Result<Program> programOf(ModelSpec model, const std::string& mesh, const std::string& preset, const Workload& workload);
Result<Program> programOf(const ModelCase& of, DType dtype);
/// The options, for all cases of the suite.
Options withModels(Options options = {});

} // namespace shardboard::conformance
