// SPDX-License-Identifier: Apache-2.0
// The op graph of one module alone.
#pragma once

#include "model/core/result.h"
#include "model/families/modelspec.h"
#include "model/ops/graph.h"
#include "model/ops/workload.h"

namespace shardboard {

/// ColumnParallelLinear: x [B,S,in] (or tokens looked up in the tied weight), y = x Wt, + b, then the last dim
/// gathered; B is the batch, S the new tokens of a sequence. Weights are `linear.weight` [out, in] and `linear.bias`
/// [out], the tied one is `embed_tokens.weight`. Errors: sizes out of range or too large to count, a tied weight with a
/// bias.
Result<Graph> buildColumnParallelLinear(const ModelSpec& model, const Workload& workload);

} // namespace shardboard
