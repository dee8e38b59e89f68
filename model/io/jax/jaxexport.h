// SPDX-License-Identifier: Apache-2.0
// Export to JAX: a Python module with the mesh, one PartitionSpec per name pattern, and its own check against shards.json.
#pragma once

#include "model/design/evaluation.h"
#include "model/io/exports/exportfiles.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardboard {

/// Files export.py and shards.json. The first is made from the weights' layouts alone and the second from the shards that the plan
/// places, so that export.py, which has JAX make its shards, checks one against the other. Cancelled when `stopped` says so.
Result<std::vector<ExportedFile>> exportJax(const Design& design, std::shared_ptr<const Evaluation> evaluation,
                                            const std::function<bool()>& stopped = {});

/// JAX cuts a dim into equal parts, in order over whole mesh axes, and has every weight on every device. Refused: a weight whose
/// shards in the plan are others (a dim that does not divide, whole heads, fused segments, a sub-axis), one of unknown shape, one
/// whose strategy does not fit it; a pipeline of two stages or more; so many devices that shards.json gets too large.
std::vector<ExportRefusal> jaxRefusals(const Design& design, const Evaluation& evaluation);

/// The head of export.py says it, too.
std::vector<std::string> jaxLeftOut(const Design& design);

} // namespace shardboard
