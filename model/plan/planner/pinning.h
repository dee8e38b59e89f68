// SPDX-License-Identifier: Apache-2.0
// What a design's pins say about every operation of a graph.
#pragma once

#include "model/core/layout.h"
#include "model/core/mesh.h"
#include "model/ops/graph.h"
#include "model/picker/greedy.h"
#include "model/plan/pin.h"

#include <functional>
#include <vector>

namespace shardboard {

/// Whether a pin speaks of an operation (with a row) or of its result.
bool pinNames(const Pin& pin, const Graph& graph, OpId op, const std::string& segment);

/// Asks the pins when it is asked: `graph` and `pins` have to live as long.
class Pinning {
public:
    /// Mesh axes and labels that do not exist are skipped. Where pins speak of the same mesh axis of the same value, the
    /// later one counts. Profiles of MAX know no pins.
    Pinning(const Graph& graph, const Mesh& mesh, const std::vector<Pin>& pins, PickerProfile profile = PickerProfile::Shardboard);

    bool known() const { return m_known; } ///< by the profile

    /// Pins of an operation: those of its result, and those of its row.
    std::vector<AxisPin> of(OpId op) const;
    /// Those of the whole gradient of a tensor.
    std::vector<AxisPin> ofGradient(TensorId tensor) const;

private:
    struct Place {
        int axis;
        const std::string* label; ///< of a dim; null: whole
    };
    struct Pinned {
        const Pin* pin;
        int index;
        std::vector<Place> places; ///< of a row's pin its mesh axis
    };
    void add(std::vector<AxisPin>& out, const Pinned& pinned, const TensorSpec& result) const;

    const Graph& m_graph;
    bool m_known;
    std::vector<Pinned> m_pins; ///< that speak of some mesh axis
    std::vector<const std::string*> m_segments; ///< by OpId: the segment's name
    std::vector<OpId> m_gradient; ///< by TensorId: the operation that gives its whole gradient, or -1
};

/// The pins of an operation as the plan uses them. Of two ways of the same price to make the gradient of a weight the one that
/// has it where the weight lies is better. Where a sum of gradients meets its first whole addend, what was partial so far is
/// reduced as the whole gradient is pinned. `layouts` by TensorId: those of weights count; `arriving`: the layout in which an
/// operand arrives, by its number.
std::vector<AxisPin> operationPins(const Graph& graph, const Pinning& pinning, OpId op, const std::vector<Layout>& layouts,
                                   const std::function<const Layout&(std::size_t)>& arriving);

} // namespace shardboard
