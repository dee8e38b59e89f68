// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/core/strategy.h"

namespace shardboard {

/// A strategy that says this layout, by MAX's words where they can: replicate, rowwise, columnwise, axiswise, else a spec.
Strategy strategyOf(const Layout& layout, const Mesh& mesh);

} // namespace shardboard
