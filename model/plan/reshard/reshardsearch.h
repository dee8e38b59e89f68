// SPDX-License-Identifier: Apache-2.0
// The cheapest way from one layout to another: a shortest path whose edges are single collectives.
#pragma once

#include "model/plan/reshard/reshard.h"

#include <optional>

namespace shardboard {

struct ReshardProblem {
    const Layout& from;
    const Layout& to; ///< partial only where `from` is; whole axes of more than one device in both
    const ReshardedTensor& tensor;
    const Mesh& mesh;
    CollectivePrices& prices; ///< on that mesh
};

/// Nothing where there are too many axes or dims, or too many layouts in between, to look at them all.
std::optional<std::vector<ReshardStep>> cheapestSteps(const ReshardProblem& problem);

} // namespace shardboard
