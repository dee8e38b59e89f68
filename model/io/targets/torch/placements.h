// SPDX-License-Identifier: Apache-2.0
// Layouts as placements of torch.distributed.tensor: one for each mesh axis, applied from the first axis to the last.
#pragma once

#include "model/design/evaluation.h"
#include "model/io/exports/exportfiles.h"

#include <functional>
#include <string>
#include <vector>

namespace shardboard {

/// `(R, S(0))`: one entry for each mesh axis but `leftOut` (the axis of a pipeline's stages; -1: none). `_S(0, 4)` is the private
/// _StridedShard: the dim is cut in 4 first and then every part. That says mesh axes on a dim in another order than the mesh's, and
/// fused parts of equal size (`cuts` of the weight; empty: none is fused).
std::string placementsCode(const Layout& layout, const Mesh& mesh, int leftOut, const std::vector<DimCut>& cuts = {});

/// What torch cannot hold as the plan does: what it cuts elsewhere (its own rule is ceil, axis after axis), and dims that do not
/// divide where a strided shard would be needed, which then is no cut of the layout.
Result<std::vector<ExportRefusal>> torchRefusals(const Design& design, const Evaluation& evaluation,
                                                 const std::function<bool()>& stopped);

} // namespace shardboard
