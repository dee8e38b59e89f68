// SPDX-License-Identifier: Apache-2.0
// What a design says and an export of weights and inputs does not.
#pragma once

#include "model/design/design.h"

#include <string>
#include <vector>

namespace shardboard {

/// A sentence for each kind of thing, with what it means: pins (by what they match, and how many), recompute, overlap,
/// micro-batches, sharded optimizer states, and every setting of the workload and of memory that changes what a step computes,
/// holds or moves; not what memory is taken to hold beside it (reserve, context, communicators). A target takes what it says itself
/// out of the design before it asks. Printable ASCII, whatever the design's names hold. `compiler` is who decides instead: `XLA`.
std::vector<std::string> leftOutOf(const Design& design, const std::string& compiler);

/// In which layers a workload recomputes, to stand behind what it does: ` of 3 layers`, ` of one layer in 2`; empty for all.
std::string recomputedWhere(const Workload& workload);

/// Whether it is one of none, selective, and full, in all layers: what most frameworks have a word for.
bool isPlainRecompute(const Workload& workload);

} // namespace shardboard
