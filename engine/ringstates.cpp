// SPDX-License-Identifier: Apache-2.0
#include "engine/ringstates.h"

namespace shardboard::engine {

RingStates::RingStates(Context& context, const Sharded& queries)
    : m_queries(queries)
{
    std::int64_t end = 0;
    for (std::int64_t device = 0; device < queries.deviceCount(); ++device) {
        m_offsets.push_back(end);
        const Box& box = queries.box(device);
        end += (3 * box[0].size() * box[1].size() * box[2].size() + 63) / 64 * 64;
    }
    m_block = context.arena.allocateFloats(end);
}

float* RingStates::at(std::int64_t which, std::int64_t device, std::int64_t batch, std::int64_t head) const
{
    const Box& box = m_queries.box(device);
    const std::int64_t row = (which * box[0].size() + batch) * box[2].size() + head;
    return m_block.floats() + m_offsets[static_cast<std::size_t>(device)] + row * box[1].size();
}

std::vector<HeadTask> headTasks(const Sharded& tensor)
{
    std::vector<HeadTask> tasks;
    for (std::int64_t device = 0; device < tensor.deviceCount(); ++device) {
        const Box& box = tensor.box(device);
        for (std::int64_t batch = 0; tensor.elements(device) > 0 && batch < box[0].size(); ++batch)
            for (std::int64_t head = 0; head < box[2].size(); ++head)
                tasks.push_back({ device, batch, head });
    }
    return tasks;
}

} // namespace shardboard::engine
