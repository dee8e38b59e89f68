// SPDX-License-Identifier: Apache-2.0
// From a choice of layouts to a design that is planned so: an entry for every weight, and a pin for the row of every operation.
#pragma once

#include "model/design/design.h"
#include "model/design/optimize/layoutnetwork.h"

namespace shardboard {

/// Who set the pins of such a design.
inline constexpr const char* kOptimizedSource = "optimal layouts";

/// `design` with the layouts of a choice (values of the network's nodes). Pins set by hand stay, those of presets go; `keeps` tells
/// of which weights the entries stay.
Design designOf(const Design& design, const Graph& graph, const Mesh& mesh, const LayoutSpace& space, const LayoutNetwork& network,
                const LayoutNumbers& layouts, const std::vector<int>& choice, const std::function<bool(TensorId)>& keeps);

} // namespace shardboard
