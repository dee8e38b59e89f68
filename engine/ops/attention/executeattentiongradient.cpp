// SPDX-License-Identifier: Apache-2.0
// The gradients of attention for its queries, keys, values and sinks, where every device has all keys that its queries see. A
// device that has all KV heads but only some query heads, or all keys but only some queries, makes a part of the sums for keys
// and values.
#include "engine/ops/attention/attentionwork.h"
#include "engine/ops/attention/ringstates.h"
#include "engine/ops/kernels/attention.h"

#include <algorithm>
#include <cstring>

namespace shardboard::engine {

namespace {

enum class For { Queries, Keys, Values, Sinks };

For aimOf(OpKind kind)
{
    switch (kind) {
    case OpKind::AttentionGradQ:
    case OpKind::SinkAttentionGradQ:
        return For::Queries;
    case OpKind::AttentionGradK:
    case OpKind::SinkAttentionGradK:
        return For::Keys;
    case OpKind::AttentionGradV:
    case OpKind::SinkAttentionGradV:
        return For::Values;
    default:
        return For::Sinks;
    }
}

/// The part of one query head in one sequence.
void addGradients(const AttentionWork& work, std::int64_t device, std::int64_t batch, std::int64_t head, float* scratch,
                  const AttentionGradients& gradients)
{
    const AttentionPart q = work.own(1, device);
    const AttentionPart k = work.own(2, device);
    const std::int64_t kvHead = work.kvHeadOf(*q.box, *k.box, head);
    attendHeadBackward(work.block(*q.box, *k.box, head), q.rows(batch, head), k.rows(batch, kvHead),
                       work.own(3, device).rows(batch, kvHead), work.sink(device, head), work.own(0, device).rows(batch, head),
                       scratch, gradients);
}

/// Gradient of one head of the result in one sequence: of a query head, else of a KV head.
void gradientOfHead(const AttentionWork& work, For aim, const HeadTask& task, float* scratch, Sharded& result)
{
    const Rows out = headRows(result, task);
    if (aim == For::Queries)
        return addGradients(work, task.device, task.batch, task.head, scratch, { .dq = out, .dk = {}, .dv = {} });
    clearRows(out, result.box(task.device)[1].size(), result.box(task.device)[3].size());
    const Range heads = work.headsOf(work.q.box(task.device), work.k.box(task.device), task.head);
    AttentionGradients gradients;
    (aim == For::Keys ? gradients.dk : gradients.dv) = out;
    for (std::int64_t head = heads.lo; head < heads.hi; ++head)
        addGradients(work, task.device, task.batch, head, scratch, gradients);
}

Timing sinkGradients(Context& context, const AttentionWork& work, const Block& scratch, std::int64_t scratchFloats, Sharded& result)
{
    std::vector<std::int64_t> devices;
    std::vector<std::int64_t> heads;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device)
        for (std::int64_t head = 0; head < result.elements(device); ++head) {
            devices.push_back(device);
            heads.push_back(head);
        }
    return runTimed(context, result.mesh(), devices, [&](std::size_t index, int worker) {
        context.pool->checkCancelled();
        AttentionGradients gradients;
        gradients.dSink = result.data(devices[index]) + heads[index];
        *gradients.dSink = 0;
        const std::int64_t batches = work.q.elements(devices[index]) > 0 ? work.q.box(devices[index])[0].size() : 0;
        for (std::int64_t batch = 0; batch < batches; ++batch)
            addGradients(work, devices[index], batch, heads[index],
                         scratch.floats() + worker * Context::scratchStride(scratchFloats), gradients);
        return 0.0;
    });
}

} // namespace

void checkAttentionGradient(const AttentionWork& work, const Sharded& result, std::int64_t device)
{
    const For aim = aimOf(work.call.kind);
    const Sharded& like = aim == For::Queries ? work.q : aim == For::Keys ? work.k : work.v;
    if (aim == For::Sinks)
        requireSame(result.box(device)[0], work.q.box(device)[2], work.call, "gradient of the sinks and query heads");
    else
        requireSameBox(like.box(device), result.box(device), work.call, "operand and result");
    work.checkFit(device);
}

Timing executeAttentionGradient(Context& context, const OpCall& call, Sharded& result)
{
    if (call.rings != nullptr && !call.rings->empty())
        return executeRingAttentionGradient(context, call, result);
    const AttentionWork work(call, result);
    const For aim = aimOf(call.kind);
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        checkAttentionGradient(work, result, device);
        work.checkWhole(device);
        const double scores = work.flops(device, 1);
        context.work.flops += (aim == For::Values ? 2.0 : 3.0) * scores;
        context.work.touched += scores / static_cast<double>(std::max<std::int64_t>(1, work.q.shape()[3])) * 6;
    }
    const std::int64_t scratchFloats = attentionScratch(work.k.shape()[1]);
    const Block scratch = context.scratch(scratchFloats);
    if (context.planning())
        return {};
    if (aim == For::Sinks)
        return sinkGradients(context, work, scratch, scratchFloats, result);
    return runHeads(context, result, headTasks(result), [&](const HeadTask& task, int worker) {
        gradientOfHead(work, aim, task, scratch.floats() + worker * Context::scratchStride(scratchFloats), result);
    });
}

} // namespace shardboard::engine
