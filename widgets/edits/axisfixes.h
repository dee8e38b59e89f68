// SPDX-License-Identifier: Apache-2.0
// What can be done instead of a cut that was refused: the same cut by a rule that pads, the same dim over another mesh axis, the
// same mesh axis on another dim. Every one has been evaluated and is accepted. Pure.
#pragma once

#include "widgets/edits/weightedits.h"

namespace shardboard {

/// At most `most` edits of one weight, best first; none where the cut is accepted as it is or takes an axis off (`dim` -1).
std::vector<WeightEdit> axisFixes(const Document& document, int weight, int axis, int dim, std::size_t most = 3);

} // namespace shardboard
