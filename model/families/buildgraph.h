// SPDX-License-Identifier: Apache-2.0
// From a model's dimensions to its op graph, whatever kind of model it is.
#pragma once

#include "model/core/result.h"
#include "model/core/shards.h"
#include "model/families/modelspec.h"
#include "model/ops/graph.h"
#include "model/ops/workload.h"

#include <optional>
#include <string>
#include <vector>

namespace shardboard {

/// Errors and `splitBefore`: see buildDecoder; a module alone has no layers to split. `recomputed`: layers that compute again in
/// training (nothing: all); their ends are in `splitBefore`. `toEnd`: see Recomputing.
Result<Graph> buildGraph(const ModelSpec& model, const Workload& workload, const std::vector<std::int64_t>& splitBefore = {},
                         const std::optional<std::vector<Range>>& recomputed = {}, bool toEnd = false);

/// Name of the tensor that goes in: `tokens`, or `x` where a module takes values.
std::string inputName(const ModelSpec& model);

} // namespace shardboard
