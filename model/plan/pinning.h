// SPDX-License-Identifier: Apache-2.0
// What a design's pins say about every operation of a graph.
#pragma once

#include "model/core/mesh.h"
#include "model/design/pin.h"
#include "model/graph/graph.h"
#include "model/picker/greedy.h"

#include <vector>

namespace shardboard {

class Pinning {
public:
    Pinning() = default;
    /// Mesh axes and labels that do not exist are skipped. Where pins speak of the same mesh axis of the same value, the
    /// later one counts.
    Pinning(const Graph& graph, const Mesh& mesh, const std::vector<Pin>& pins);

    /// Pins of an operation: those of its result, and those of its row.
    const std::vector<AxisPin>& of(OpId op) const;

private:
    std::vector<std::vector<AxisPin>> m_pins; ///< by OpId
};

} // namespace shardboard
