// SPDX-License-Identifier: Apache-2.0
// A reshard in a fixed order of steps, whatever they cost: reduce-scatters, one all-reduce, all-to-alls, all-gathers, local
// slices. For layouts that the search for the cheapest steps is not made for, and to compare with.
#pragma once

#include "model/plan/reshard/reshard.h"

namespace shardboard {

/// Layouts of whole mesh axes; `to` is partial only where `from` is.
std::vector<ReshardStep> stepsInFixedOrder(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh);

} // namespace shardboard
