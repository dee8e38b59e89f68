// SPDX-License-Identifier: Apache-2.0
// The running maxima and sums of the softmax of every query, on the device that has the query.
#pragma once

#include "engine/attentionwork.h"
#include "engine/kernels/ringattention.h"

#include <cstdint>
#include <vector>

namespace shardboard::engine {

class RingStates {
public:
    /// Takes the memory.
    RingStates(Context& context, const Sharded& queries);

    float* highest(std::int64_t device, std::int64_t batch, std::int64_t head) const { return at(0, device, batch, head); }
    float* sum(std::int64_t device, std::int64_t batch, std::int64_t head) const { return at(1, device, batch, head); }
    /// For the gradients: of each query the sum of dy * result.
    float* dots(std::int64_t device, std::int64_t batch, std::int64_t head) const { return at(2, device, batch, head); }

private:
    float* at(std::int64_t which, std::int64_t device, std::int64_t batch, std::int64_t head) const;

    const Sharded& m_queries;
    std::vector<std::int64_t> m_offsets; ///< by device, in floats
    Block m_block;
};

/// A head of a sequence on a device; indices are local.
struct HeadTask {
    std::int64_t device = 0;
    std::int64_t batch = 0;
    std::int64_t head = 0;
};
/// All heads of all shards of a tensor [B,S,h,d] that have elements.
std::vector<HeadTask> headTasks(const Sharded& tensor);

} // namespace shardboard::engine
