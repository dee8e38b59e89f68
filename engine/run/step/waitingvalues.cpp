// SPDX-License-Identifier: Apache-2.0
#include "engine/run/step/waitingvalues.h"

#include <algorithm>

namespace shardboard::engine {

Handed* WaitingValues::find(const Key& key)
{
    const auto found = m_values.find(key);
    return found == m_values.end() ? nullptr : &found->second;
}

std::optional<Handed> WaitingValues::take(const Key& key)
{
    auto node = m_values.extract(key);
    return node.empty() ? std::nullopt : std::optional<Handed>(std::move(node.mapped()));
}

std::vector<std::pair<TensorId, Handed>> WaitingValues::takeKept(SegmentId segment, std::int64_t layer)
{
    std::vector<std::pair<TensorId, Handed>> out;
    auto next = m_values.lower_bound({ kNoTensor, layer, segment });
    while (next != m_values.end() && next->first.keptBy == segment && next->first.layer == layer) {
        out.emplace_back(next->first.tensor, std::move(next->second));
        next = m_values.erase(next);
    }
    return out;
}

std::vector<std::vector<TensorId>> leavingTensors(const Graph& graph)
{
    std::vector<std::vector<TensorId>> leaving(graph.segments.size());
    std::vector<int> madeIn(graph.tensors.size(), -1);
    for (std::size_t i = 0; i < graph.segments.size(); ++i)
        if (graph.segments[i].phase == Phase::Backward)
            for (const OpId id : graph.segments[i].ops)
                madeIn[static_cast<std::size_t>(graph.op(id).result)] = static_cast<int>(i);
    for (std::size_t i = 0; i < graph.segments.size(); ++i) {
        const Segment& segment = graph.segments[i];
        for (const OpId id : segment.ops)
            for (const TensorId tensor : graph.op(id).operands) {
                const int from = madeIn[static_cast<std::size_t>(tensor)];
                if (from < 0 || from == static_cast<int>(i) || tensor == segment.carryIn)
                    continue;
                auto& list = leaving[static_cast<std::size_t>(from)];
                if (std::find(list.begin(), list.end(), tensor) == list.end())
                    list.push_back(tensor);
            }
    }
    return leaving;
}

} // namespace shardboard::engine
