// SPDX-License-Identifier: Apache-2.0
// The cheapest way from one layout to another: a shortest path whose edges are single collectives.
#pragma once

#include "model/core/layout.h"
#include "model/cost/collectiveprices.h"

#include <memory>
#include <optional>
#include <vector>

namespace shardboard {

struct ReshardStep;
struct ReshardedTensor;

struct ReshardProblem {
    const Layout& from;
    const Layout& to; ///< partial only where `from` is; whole axes of more than one device in both
    const ReshardedTensor& tensor;
    const Mesh& mesh;
    CollectivePrices& prices; ///< on that mesh
};

/// One after the other: what is needed for a search is kept for the next. Nothing where there are too many axes or dims, or too
/// many layouts in between, to look at them all.
class ReshardSearch {
public:
    ReshardSearch();
    ReshardSearch(ReshardSearch&&) noexcept;
    ~ReshardSearch();

    std::optional<std::vector<ReshardStep>> steps(const ReshardProblem& problem);
    /// What these steps take together; does not look for the right ones among those that take as long.
    std::optional<double> seconds(const ReshardProblem& problem);
    /// No steps take less. Costs a fraction of a search.
    double floor(const ReshardProblem& problem);

    struct Memory;

private:
    std::unique_ptr<Memory> m_memory;
};

} // namespace shardboard
