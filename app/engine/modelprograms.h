// SPDX-License-Identifier: Apache-2.0
// The programs of the conformance suite's whole models, made by the design's presets and evaluation, of which the engine knows
// nothing.
#pragma once

#include "engine/conformance/conformance.h"
#include "engine/conformance/modelcases.h"

namespace shardboard::conformance {

Result<Program> programOf(const ModelCase& of, DType dtype);
/// The options, for all cases of the suite.
Options withModels(Options options = {});

} // namespace shardboard::conformance
