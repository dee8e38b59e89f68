// SPDX-License-Identifier: Apache-2.0
// From a question about a module to a design that holds it: to be planned, run and verified.
#pragma once

#include "model/core/result.h"
#include "model/design/design.h"

#include <nlohmann/json.hpp>

#include <string>

namespace shardboard {

/// A design of one ColumnParallelLinear on a mesh `model=num_devices`, its weight and bias rowwise (dim 0). The dims of
/// `input_shape` [..., sequence, in] give the workload. Errors: another module; what MAX refuses; scales, which a
/// design cannot hold.
Result<Design> moduleDesign(const nlohmann::json& request, const std::string& file);

} // namespace shardboard
