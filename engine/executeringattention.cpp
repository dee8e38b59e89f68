// SPDX-License-Identifier: Apache-2.0
// Attention where every device has a range of the sequence, queries, keys and values: the keys and values of the other
// devices come around the ring, and a running softmax stands for those that were there already.
#include "engine/attentionwork.h"
#include "engine/failure.h"
#include "engine/ringexchange.h"
#include "engine/ringstates.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

Timing runHeads(Context& context, const Sharded& result, const std::vector<HeadTask>& tasks,
                const std::function<void(const HeadTask& task, int worker)>& run)
{
    std::vector<std::int64_t> devices;
    for (const HeadTask& task : tasks)
        devices.push_back(task.device);
    return runTimed(context, result.deviceCount(), devices, [&](std::size_t index, int worker) {
        context.pool->checkCancelled();
        run(tasks[index], worker);
        return 0.0;
    });
}

/// The keys of the members of a device's ring are the whole sequence, each once, of the same sequences and heads.
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

std::int64_t mostKeys(const Sharded& keys)
{
    std::int64_t most = 0;
    for (std::int64_t device = 0; device < keys.deviceCount(); ++device)
        most = std::max(most, keys.box(device)[1].size());
    return most;
}

/// Goes around once: `out` becomes the result of attention, `states` what its softmax came to.
Timing attendRing(Context& context, const AttentionWork& work, RingExchange& ring, const RingStates& states, const Block& scratch,
                  std::int64_t scratchFloats, Sharded& out)
{
    Timing timing;
    const auto tasks = headTasks(out);
    for (std::int64_t hop = 0; hop < ring.hops(); ++hop) {
        ring.go(hop);
        timing += runHeads(context, out, tasks, [&](const HeadTask& task, int worker) {
            const AttentionPart queries = work.own(work.first, task.device);
            const AttentionPart keys = ring.part(task.device, work.first + 1);
            const AttentionPart values = ring.part(task.device, work.first + 2);
            const AttentionBlock block = work.block(*queries.box, *keys.box);
            const Box& box = out.box(task.device);
            const RingState state { states.highest(task.device, task.batch, task.head), states.sum(task.device, task.batch, task.head),
                                    { out.data(task.device) + headOffset(box, task.batch, task.head), box[2].size() * box[3].size() } };
            const std::int64_t kvHead = work.kvHeadOf(*queries.box, *keys.box, task.head);
            if (hop == 0)
                ringStart(block.queries, block.valueDim, work.sink(task.device, task.head), state);
            ringAttend(block, queries.rows(task.batch, task.head), keys.rows(task.batch, kvHead), values.rows(task.batch, kvHead),
                       scratch.floats() + worker * Context::scratchStride(scratchFloats), state);
            if (hop + 1 == ring.hops())
                ringFinish(block.queries, block.valueDim, state);
        });
    }
    return timing;
}

} // namespace

Timing executeRingAttention(Context& context, const OpCall& call, Sharded& result)
{
    const AttentionWork work(call, result);
    RingExchange ring(context, call, { work.first + 1, work.first + 2 }, RingExchange::Reading::Copied);
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        work.checkFit(device);
        checkRing(work, ring, device);
        for (std::size_t d = 0; d < 3; ++d)
            requireSame(work.q.box(device)[d], result.box(device)[d], call, "queries and result");
        requireWhole(result.box(device)[3], work.valueDim, call, "a value");
        context.work.flops += work.flops(device, 2);
    }
    const RingStates states(context, work.q);
    const std::int64_t scratchFloats = attentionScratch(mostKeys(work.k));
    const Block scratch = context.scratch(scratchFloats);
    if (context.planning())
        return {};
    return attendRing(context, work, ring, states, scratch, scratchFloats, result);
}

} // namespace shardboard::engine
