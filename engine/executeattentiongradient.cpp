// SPDX-License-Identifier: Apache-2.0
// The gradients of attention for its queries, keys and values. A device that has all KV heads but only some query heads
// makes a part of the sums for keys and values.
#include "engine/execute.h"
#include "engine/failure.h"
#include "engine/kernels/attention.h"

#include <algorithm>
#include <cstring>

namespace shardboard::engine {

namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

struct Operands {
    const Sharded& dy;
    const Sharded& q;
    const Sharded& k;
    const Sharded& v;
    std::int64_t headsPerKv;
};

void check(const OpCall& call, const Operands& in, const Sharded& result, std::int64_t device)
{
    const Box& dy = in.dy.box(device);
    const Box& q = in.q.box(device);
    const Box& k = in.k.box(device);
    const Box& v = in.v.box(device);
    if (result.elements(device) == 0)
        return;
    const Sharded& like = call.kind == OpKind::AttentionGradQ ? in.q : call.kind == OpKind::AttentionGradK ? in.k : in.v;
    requireSameBox(like.box(device), result.box(device), call, "operand and result");
    requireSameRows(dy, q, call, "gradient and queries");
    requireSameRows(k, v, call, "keys and values");
    requireSame(k[0], q[0], call, "sequences of queries and keys");
    requireWhole(k[1], in.k.shape()[1], call, "the keys of a sequence");
    for (const Sharded* tensor : { &in.dy, &in.q, &in.k, &in.v })
        requireWhole(tensor->box(device)[3], tensor->shape()[3], call, "a head");
    if (volumeOf(q) == 0)
        return;
    const Range needed { q[2].lo / in.headsPerKv, (q[2].hi - 1) / in.headsPerKv + 1 };
    if (needed.lo < k[2].lo || needed.hi > k[2].hi)
        failPlan("a device lacks the KV heads of its query heads", call.where);
}

/// A head of the result in one sequence of one device: of AttentionGradQ a query head, else a KV head.
struct Head {
    std::int64_t device = 0;
    std::int64_t batch = 0;
    std::int64_t head = 0;
};

/// Row 0 of a head of a sequence; indices are local.
std::int64_t offsetOf(const Box& box, std::int64_t batch, std::int64_t head)
{
    return (batch * box[1].size() * box[2].size() + head) * box[3].size();
}
ConstRows rowsOf(const Sharded& tensor, std::int64_t device, std::int64_t batch, std::int64_t head)
{
    const Box& box = tensor.box(device);
    return { tensor.data(device) + offsetOf(box, batch, head), box[2].size() * box[3].size() };
}

void gradientOfHead(const OpCall& call, const Operands& in, const Head& task, float* scratch, Sharded& result)
{
    const Box& q = in.q.box(task.device);
    const Box& k = in.k.box(task.device);
    const Box& box = result.box(task.device);
    const Rows out { result.data(task.device) + offsetOf(box, task.batch, task.head), box[2].size() * box[3].size() };
    AttentionBlock block;
    block.queries = q[1].size();
    block.keys = k[1].size();
    block.headDim = q[3].size();
    block.valueDim = in.v.box(task.device)[3].size();
    block.firstQuery = in.k.shape()[1] - in.q.shape()[1] + q[1].lo;
    AttentionGradients gradients;
    (call.kind == OpKind::AttentionGradQ ? gradients.dq : call.kind == OpKind::AttentionGradK ? gradients.dk : gradients.dv) = out;
    const auto run = [&](std::int64_t head, std::int64_t kvHead) {
        attendHeadBackward(block, rowsOf(in.q, task.device, task.batch, head), rowsOf(in.k, task.device, task.batch, kvHead),
                           rowsOf(in.v, task.device, task.batch, kvHead), nullptr, rowsOf(in.dy, task.device, task.batch, head),
                           scratch, gradients);
    };
    if (call.kind == OpKind::AttentionGradQ)
        return run(task.head, (q[2].lo + task.head) / in.headsPerKv - k[2].lo);
    for (std::int64_t row = 0; row < box[1].size(); ++row)
        std::memset(out.data + row * out.stride, 0, at(box[3].size()) * sizeof(float));
    const std::int64_t kvHead = k[2].lo + task.head;
    const Range heads { std::max(q[2].lo, kvHead * in.headsPerKv), std::min(q[2].hi, (kvHead + 1) * in.headsPerKv) };
    for (std::int64_t head = heads.lo; head < heads.hi; ++head)
        run(head - q[2].lo, task.head);
}

} // namespace

Timing executeAttentionGradient(Context& context, const OpCall& call, Sharded& result)
{
    const Operands in { *call.operands[0], *call.operands[1], *call.operands[2], *call.operands[3],
                        call.operands[1]->shape()[2] / call.operands[2]->shape()[2] };
    const std::int64_t keys = in.k.shape()[1];
    std::vector<Head> heads;
    std::vector<std::int64_t> devices;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        check(call, in, result, device);
        const double scores = static_cast<double>(in.q.elements(device)) * static_cast<double>(keys);
        context.work.flops += (call.kind == OpKind::AttentionGradV ? 2.0 : 3.0) * 1.2 * scores; // of a square about half
        context.work.touched += scores / static_cast<double>(std::max<std::int64_t>(1, in.q.shape()[3])) * 6;
        if (context.planning() || result.elements(device) == 0)
            continue;
        const Box& box = result.box(device);
        for (std::int64_t batch = 0; batch < box[0].size(); ++batch)
            for (std::int64_t head = 0; head < box[2].size(); ++head) {
                heads.push_back({ device, batch, head });
                devices.push_back(device);
            }
    }
    const std::int64_t scratchFloats = attentionScratch(keys);
    const Block scratch = context.scratch(scratchFloats);
    if (context.planning())
        return {};
    return runTimed(context, result.deviceCount(), devices, [&](std::size_t index, int worker) {
        context.pool->checkCancelled();
        gradientOfHead(call, in, heads[index], scratch.floats() + worker * Context::scratchStride(scratchFloats), result);
        return 0.0;
    });
}

} // namespace shardboard::engine
