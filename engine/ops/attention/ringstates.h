// SPDX-License-Identifier: Apache-2.0
// The running maxima and sums of the softmax of every query, on the device that has the query, and attention around a ring
// that makes them.
#pragma once

#include "engine/ops/attention/attentionwork.h"
#include "engine/ops/attention/ringexchange.h"
#include "engine/ops/kernels/ringattention.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace shardboard::engine {

/// A head of a sequence on a device; indices are local.
struct HeadTask {
    std::int64_t device = 0;
    std::int64_t batch = 0;
    std::int64_t head = 0;
};
/// All heads of all shards of a tensor [B,S,h,d] that have elements.
std::vector<HeadTask> headTasks(const Sharded& tensor);
Rows headRows(Sharded& tensor, const HeadTask& task);
void clearRows(const Rows& rows, std::int64_t count, std::int64_t width);
Timing runHeads(Context& context, const Sharded& result, const std::vector<HeadTask>& tasks,
                const std::function<void(const HeadTask& task, int worker)>& run);

class RingStates {
public:
    /// Takes the memory.
    RingStates(Context& context, const Sharded& queries);

    float* highest(std::int64_t device, std::int64_t batch, std::int64_t head) const { return at(0, device, batch, head); }
    float* sum(std::int64_t device, std::int64_t batch, std::int64_t head) const { return at(1, device, batch, head); }
    /// For the gradients: of each query the sum of dy * result.
    float* dots(std::int64_t device, std::int64_t batch, std::int64_t head) const { return at(2, device, batch, head); }
    /// All of a device, for the devices at a rank.
    void need(std::vector<Delivery>& deliveries, const Context& context, std::int64_t device, int rank) const;

private:
    float* at(std::int64_t which, std::int64_t device, std::int64_t batch, std::int64_t head) const;

    const Sharded& m_queries;
    std::vector<std::int64_t> m_sizes; ///< by device, in floats
    DeviceParts m_parts;
};

/// The most tokens of a sequence that a device has.
std::int64_t mostTokens(const Sharded& tensor);
/// Throws unless the keys of the members of a device's ring are the whole sequence, each once, of the same sequences and heads.
void checkRing(const AttentionWork& work, const RingExchange& ring, std::int64_t device);

/// For each worker attentionScratch of the most keys of a part.
struct RingScratch {
    RingScratch(Context& context, const Sharded& keys);
    float* of(int worker) const { return block.floats() + worker * Context::scratchStride(floats); }

    std::int64_t floats = 0;
    Block block;
};

/// Goes around once with keys and values: `out` becomes the result of attention, `states` what its softmax came to.
Timing attendRing(Context& context, const AttentionWork& work, RingExchange& ring, const RingStates& states,
                  const RingScratch& scratch, Sharded& out);

} // namespace shardboard::engine
