// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/attention/ringstates.h"

#include "engine/machine/failure.h"

#include <algorithm>
#include <cstring>

namespace shardboard::engine {

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

Rows headRows(Sharded& tensor, const HeadTask& task)
{
    const Box& box = tensor.box(task.device);
    return { tensor.data(task.device) + headOffset(box, task.batch, task.head), box[2].size() * box[3].size() };
}

void clearRows(const Rows& rows, std::int64_t count, std::int64_t width)
{
    for (std::int64_t row = 0; row < count; ++row)
        std::memset(rows.data + row * rows.stride, 0, static_cast<std::size_t>(width) * sizeof(float));
}

Timing runHeads(Context& context, const Sharded& result, const std::vector<HeadTask>& tasks,
                const std::function<void(const HeadTask& task, int worker)>& run)
{
    std::vector<std::int64_t> devices;
    for (const HeadTask& task : tasks)
        devices.push_back(task.device);
    return runTimed(context, result.mesh(), devices, [&](std::size_t index, int worker) {
        context.pool->checkCancelled();
        run(tasks[index], worker);
        return 0.0;
    });
}

RingStates::RingStates(Context& context, const Sharded& queries)
    : m_queries(queries)
{
    for (std::int64_t device = 0; device < queries.deviceCount(); ++device) {
        const Box& box = queries.box(device);
        m_sizes.push_back(3 * box[0].size() * box[1].size() * box[2].size());
    }
    m_parts.allocate(context.arena, queries.mesh(), m_sizes, sizeof(float));
}

float* RingStates::at(std::int64_t which, std::int64_t device, std::int64_t batch, std::int64_t head) const
{
    const Box& box = m_queries.box(device);
    const std::int64_t row = (which * box[0].size() + batch) * box[2].size() + head;
    return m_parts.floats(device) + row * box[1].size();
}

void RingStates::need(std::vector<Delivery>& deliveries, const Context& context, std::int64_t device, int rank) const
{
    const auto size = static_cast<std::size_t>(m_sizes[static_cast<std::size_t>(device)]);
    needFloats(deliveries, context, m_queries.mesh(), device, { m_parts.floats(device), size }, rank);
}

std::int64_t mostTokens(const Sharded& tensor)
{
    std::int64_t most = 0;
    for (std::int64_t device = 0; device < tensor.deviceCount(); ++device)
        most = std::max(most, tensor.box(device)[1].size());
    return most;
}

void checkRing(const AttentionWork& work, const RingExchange& ring, std::int64_t device)
{
    std::int64_t missing = work.k.shape()[1];
    std::vector<Range> ranges;
    for (const std::int64_t member : ring.ring(device)) {
        const Box& box = work.k.box(member);
        requireSame(box[0], work.k.box(device)[0], work.call, "sequences of the parts of a ring");
        requireSame(box[2], work.k.box(device)[2], work.call, "heads of the parts of a ring");
        if (box[1].size() > 0 && std::find(ranges.begin(), ranges.end(), box[1]) != ranges.end())
            failPlan("two devices of a ring have the same keys", work.call.where);
        ranges.push_back(box[1]);
        missing -= box[1].size();
    }
    if (missing != 0)
        failPlan("the devices of a ring do not have all keys of a sequence", work.call.where);
}

RingScratch::RingScratch(Context& context, const Sharded& keys)
    : floats(attentionScratch(mostTokens(keys)))
    , block(context.scratch(floats))
{
}

Timing attendRing(Context& context, const AttentionWork& work, RingExchange& ring, const RingStates& states,
                  const RingScratch& scratch, Sharded& out)
{
    Timing timing;
    const auto tasks = headTasks(out);
    for (std::int64_t hop = 0; hop < ring.hops(); ++hop) {
        ring.go(hop);
        timing += runHeads(context, out, tasks, [&](const HeadTask& task, int worker) {
            const AttentionPart queries = work.own(work.first, task.device);
            const AttentionPart keys = ring.part(task.device, work.first + 1);
            const AttentionPart values = ring.part(task.device, work.first + 2);
            const AttentionBlock block = work.block(*queries.box, *keys.box, task.head);
            const RingState state { states.highest(task.device, task.batch, task.head),
                                    states.sum(task.device, task.batch, task.head), headRows(out, task) };
            const std::int64_t kvHead = work.kvHeadOf(*queries.box, *keys.box, task.head);
            if (hop == 0)
                ringStart(block.queries, block.valueDim, work.sink(task.device, task.head), state);
            ringAttend(block, queries.rows(task.batch, task.head), keys.rows(task.batch, kvHead), values.rows(task.batch, kvHead),
                       scratch.of(worker), state);
            if (hop + 1 == ring.hops())
                ringFinish(block.queries, block.valueDim, state);
        });
    }
    ring.finish();
    return timing;
}

} // namespace shardboard::engine
