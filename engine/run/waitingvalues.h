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

class WaitingValues {
public:
    struct Key {
        TensorId tensor = kNoTensor;
        std::int64_t layer = 0;
        int keptBy = -1; ///< the forward segment that kept it: two can keep the residual stream under one name
        friend bool operator<(const Key& a, const Key& b)
        {
            return std::tie(a.keptBy, a.layer, a.tensor) < std::tie(b.keptBy, b.layer, b.tensor);
        }
    };

    void put(const Key& key, Sharded value) { m_values.insert_or_assign(key, std::move(value)); }
    /// Null when there is none.
    Sharded* find(const Key& key);
    std::optional<Sharded> take(const Key& key);
    /// Everything that a forward segment kept of a layer.
    std::vector<std::pair<TensorId, Sharded>> takeKept(SegmentId segment, std::int64_t layer);
    void clear() { m_values.clear(); }

private:
    std::map<Key, Sharded> m_values;
};

/// By segment of the graph: what its operations make and other segments of the backward pass and the update take, the carried
/// tensors aside.
std::vector<std::vector<TensorId>> leavingTensors(const Graph& graph);

} // namespace shardboard::engine
