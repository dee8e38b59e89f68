// SPDX-License-Identifier: Apache-2.0
// What a strategy that cannot be applied was most likely meant to say.
#pragma once

#include "model/design/finder/finder.h"

#include <vector>

namespace shardboard {

/// A strategy with its cut rule, not tried yet.
struct Mended {
    Strategy strategy;
    std::optional<CutRule> cut;
};

/// Candidates for every weight alike, smallest change first: a misspelt mesh axis, then without the axes that are
/// outside the mesh or there a second time, without unreduced.
std::vector<Mended> mendedForAll(const Strategy& strategy, std::optional<CutRule> cut, const Mesh& mesh);

/// Candidates for this weight, smallest change first; the last one replicates it.
std::vector<Mended> mendedFor(const FinderInput& input, const WeightLayout& weight);

} // namespace shardboard
