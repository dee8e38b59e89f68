// SPDX-License-Identifier: Apache-2.0
// The op graph of a dense decoder of the Llama / Qwen / Mistral family.
#pragma once

#include "model/core/result.h"
#include "model/families/modelspec.h"
#include "model/ops/graph.h"
#include "model/ops/workload.h"

#include <vector>

namespace shardboard {

/// What stands before the key of a size in errors about a model that is too large: `model.vocab_size`.
inline constexpr const char* kModelPlace = "model.";

/// Builds embed, block(s) and head. `splitBefore` lists layer numbers at which a new block segment begins, because a
/// design treats these layers differently (ascending, in [1, layers)). Errors: a model without a graph, sizes that do
/// not fit in 63 bits.
Result<Graph> buildDecoder(const ModelSpec& model, const Workload& workload, const std::vector<std::int64_t>& splitBefore = {});

} // namespace shardboard
