// SPDX-License-Identifier: Apache-2.0
// Values that wait between the passes of a training step: activations kept for the backward pass, addends of gradients
// that another segment adds up, and the gradients of weights until the update.
#pragma once

#include "engine/devices/sharded.h"
#include "model/ops/graph.h"

#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace shardboard::engine {

/// What a pass hands over of a tensor. `reference`: the whole tensor of the unsharded computation, not valid without verification.
struct Handed {
    Sharded value;
    Sharded reference;
};

class WaitingValues {
public:
    struct Key {
        TensorId tensor = kNoTensor;
        std::int64_t layer = 0;
        SegmentId keptBy {}; ///< the forward segment that kept it: two can keep the residual stream under one name
        friend bool operator<(const Key& a, const Key& b)
        {
            return std::tie(a.keptBy, a.layer, a.tensor) < std::tie(b.keptBy, b.layer, b.tensor);
        }
    };

    void put(const Key& key, Handed handed) { m_values.insert_or_assign(key, std::move(handed)); }
    /// Null when there is none.
    Handed* find(const Key& key);
    std::optional<Handed> take(const Key& key);
    /// Everything that a forward segment kept of a layer.
    std::vector<std::pair<TensorId, Handed>> takeKept(SegmentId segment, std::int64_t layer);
    void clear() { m_values.clear(); }

private:
    std::map<Key, Handed> m_values;
};

/// By segment of the graph: what its operations make and other segments of the backward pass and the update take, the carried
/// tensors aside.
std::vector<std::vector<TensorId>> leavingTensors(const Graph& graph);

} // namespace shardboard::engine
