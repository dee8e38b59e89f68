// SPDX-License-Identifier: Apache-2.0
// Linear attention and state spaces, head by head: every device scans the whole sequence for the heads (or the columns of their
// values) that it has.
#include "engine/machine/failure.h"
#include "engine/machine/index.h"
#include "engine/ops/execute.h"
#include "engine/ops/kernels/statescan.h"

#include <algorithm>
#include <vector>

namespace shardboard::engine {

namespace {

/// The operands by name; gradients have dy before them.
struct Scan {
    Scan(const OpCall& from, std::size_t first)
        : call(from)
        , q(*from.operands[first])
        , k(*from.operands[first + 1])
        , v(*from.operands[first + 2])
        , decay(*from.operands[first + 3])
        , rate(*from.operands[first + 4])
        , perKey(v.shape()[2] / k.shape()[2])
    {
    }

    void check(std::int64_t device) const
    {
        const Box& values = v.box(device);
        if (volumeOf(values) == 0)
            return;
        for (const Sharded* each : { &q, &k, &decay, &rate }) {
            requireSame(each->box(device)[0], values[0], call, "sequences");
            requireWhole(each->box(device)[1], each->shape()[1], call, "a sequence");
        }
        requireWhole(values[1], v.shape()[1], call, "a sequence");
        for (const Sharded* each : { &q, &k, &decay })
            requireWhole(each->box(device)[3], each->shape()[3], call, "a key");
        requireSame(decay.box(device)[2], values[2], call, "heads and decays");
        requireSame(rate.box(device)[2], values[2], call, "heads and rates");
        for (const Sharded* each : { &q, &k })
            if (const Range& keys = each->box(device)[2];
                values[2].lo / perKey < keys.lo || (values[2].hi - 1) / perKey + 1 > keys.hi)
                failPlan("a device lacks the key heads of its heads", call.where);
    }

    /// Column `column` of a head of a sequence, all local to the device.
    StateScanColumn column(std::int64_t device, std::int64_t batch, std::int64_t head, std::int64_t column) const
    {
        StateScanColumn out;
        out.tokens = v.shape()[1];
        out.n = k.shape()[3];
        out.decays = decay.shape()[3];
        out.delta = call.attributes.delta;
        out.scale = call.attributes.scale != 0 ? static_cast<float>(call.attributes.scale) : 1.0f;
        out.q = rows(q, device, batch, keyHeadOf(device, head));
        out.k = rows(k, device, batch, keyHeadOf(device, head));
        out.v = rows(v, device, batch, head);
        out.v.data += column;
        out.decay = rows(decay, device, batch, head);
        const Box& rates = rate.box(device);
        out.rate = { rate.data(device) + batch * rates[1].size() * rates[2].size() + head, rates[2].size() };
        return out;
    }

    /// The key head of a head, both local.
    std::int64_t keyHeadOf(std::int64_t device, std::int64_t head) const
    {
        return (v.box(device)[2].lo + head) / perKey - k.box(device)[2].lo;
    }
    /// The heads of a key head, local.
    Range headsOf(std::int64_t device, std::int64_t keyHead) const
    {
        const Range& heads = v.box(device)[2];
        const std::int64_t first = (k.box(device)[2].lo + keyHead) * perKey;
        const std::int64_t lo = std::clamp(first, heads.lo, heads.hi);
        return { lo - heads.lo, std::clamp(first + perKey, lo, heads.hi) - heads.lo };
    }

    /// Token by token of one head of a tensor [B,S,h,d].
    static PerToken rows(const Sharded& of, std::int64_t device, std::int64_t batch, std::int64_t head)
    {
        const Box& box = of.box(device);
        const std::int64_t token = box[2].size() * box[3].size();
        return { of.data(device) + batch * box[1].size() * token + head * box[3].size(), token };
    }
    static PerTokenOut rows(Sharded& of, std::int64_t device, std::int64_t batch, std::int64_t head)
    {
        const Sharded& same = of;
        const PerToken at = rows(same, device, batch, head);
        return { of.data(device) + (at.data - of.data(device)), at.stride };
    }

    double flops(std::int64_t device) const
    {
        return 4.0 * static_cast<double>(v.elements(device)) * static_cast<double>(k.shape()[3]);
    }

    const OpCall& call;
    const Sharded& q;
    const Sharded& k;
    const Sharded& v;
    const Sharded& decay;
    const Sharded& rate;
    std::int64_t perKey;
};

/// One head of one sequence on one device.
struct Task {
    std::int64_t device;
    std::int64_t batch;
    std::int64_t head;
};

struct Tasks {
    std::vector<Task> tasks;
    std::vector<std::int64_t> devices;

    void add(std::int64_t device, std::int64_t batches, std::int64_t heads)
    {
        for (std::int64_t batch = 0; batch < batches; ++batch)
            for (std::int64_t head = 0; head < heads; ++head) {
                tasks.push_back({ device, batch, head });
                devices.push_back(device);
            }
    }
};

} // namespace

Timing executeStateScan(Context& context, const OpCall& call, Sharded& result)
{
    const Scan scan(call, 0);
    Tasks all;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        scan.check(device);
        requireSameBox(scan.v.box(device), result.box(device), call, "values and result");
        context.work.flops += scan.flops(device);
        if (result.elements(device) > 0 && !context.planning())
            all.add(device, result.box(device)[0].size(), result.box(device)[2].size());
    }
    const std::int64_t floats = scan.k.shape()[3];
    const Block scratch = context.scratch(floats);
    if (context.planning())
        return {};
    return runTimed(context, result.mesh(), all.devices, [&](std::size_t index, int worker) {
        context.pool->checkCancelled();
        const Task& task = all.tasks[index];
        float* const state = scratch.floats() + worker * Context::scratchStride(floats);
        const PerTokenOut y = Scan::rows(result, task.device, task.batch, task.head);
        for (std::int64_t column = 0; column < result.box(task.device)[3].size(); ++column) {
            std::fill(state, state + floats, 0.0f);
            scanForward(scan.column(task.device, task.batch, task.head, column), state, { y.data + column, y.stride });
        }
        return 0.0;
    });
}

Timing executeStateScanGradient(Context& context, const OpCall& call, Sharded& result)
{
    const Scan scan(call, 1);
    const Sharded& dy = *call.operands[0];
    const bool ofKeyHeads = call.kind == OpKind::StateScanGradQ || call.kind == OpKind::StateScanGradK;
    Tasks all;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        scan.check(device);
        requireSameBox(scan.v.box(device), dy.box(device), call, "values and gradient");
        const Sharded& like = call.kind == OpKind::StateScanGradQ ? scan.q
            : call.kind == OpKind::StateScanGradK                 ? scan.k
            : call.kind == OpKind::StateScanGradV                 ? scan.v
            : call.kind == OpKind::StateScanGradDecay             ? scan.decay
                                                                  : scan.rate;
        requireSameBox(like.box(device), result.box(device), call, "operand and result");
        context.work.flops += 3 * scan.flops(device);
        if (result.elements(device) > 0 && !context.planning())
            all.add(device, result.box(device)[0].size(), result.box(device)[2].size());
    }
    const std::int64_t floats = scanBackwardScratch(scan.v.shape()[1], scan.k.shape()[3]);
    const Block scratch = context.scratch(floats);
    if (context.planning())
        return {};
    return runTimed(context, result.mesh(), all.devices, [&](std::size_t index, int worker) {
        context.pool->checkCancelled();
        const Task& task = all.tasks[index];
        StateScanGradients out;
        PerTokenOut rows;
        const Box& box = result.box(task.device);
        if (box.size() == 3)
            rows = { result.data(task.device) + task.batch * box[1].size() * box[2].size() + task.head, box[2].size() };
        else
            rows = Scan::rows(result, task.device, task.batch, task.head);
        const std::int64_t width = box.size() == 3 ? 1 : box[3].size();
        for (std::int64_t t = 0; t < box[1].size(); ++t)
            std::fill(rows.at(t), rows.at(t) + width, 0.0f);
        const Range heads = ofKeyHeads ? scan.headsOf(task.device, task.head) : Range { task.head, task.head + 1 };
        for (std::int64_t head = heads.lo; head < heads.hi; ++head)
            for (std::int64_t column = 0; column < scan.v.box(task.device)[3].size(); ++column) {
                switch (call.kind) {
                case OpKind::StateScanGradQ:
                    out.dq = rows;
                    break;
                case OpKind::StateScanGradK:
                    out.dk = rows;
                    break;
                case OpKind::StateScanGradV:
                    out.dv = { rows.data + column, rows.stride };
                    break;
                case OpKind::StateScanGradDecay:
                    out.dDecay = rows;
                    break;
                default:
                    out.dRate = rows;
                }
                PerToken slope = Scan::rows(dy, task.device, task.batch, head);
                slope.data += column;
                scanBackward(scan.column(task.device, task.batch, head, column), slope,
                             scratch.floats() + worker * Context::scratchStride(floats), out);
            }
        return 0.0;
    });
}

Timing executeStateAppend(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& k = *call.operands[0];
    // The keys stand in for the queries, which it does not have.
    OpCall whole = call;
    whole.operands.insert(whole.operands.begin(), &k);
    const Scan scan(whole, 0);
    const std::int64_t n = k.shape()[3];
    if (!result.layout().partial.empty())
        failPlan("a state cannot be partial", call.where);
    Tasks all;
    std::int64_t largest = 0;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        scan.check(device);
        const Box& box = result.box(device);
        requireSame(scan.v.box(device)[0], box[0], call, "sequences");
        requireSame(scan.v.box(device)[2], box[1], call, "heads");
        requireWhole(box[2], n, call, "a key");
        requireSame(scan.v.box(device)[3], box[3], call, "columns of the state");
        context.work.flops += scan.flops(device);
        largest = std::max(largest, box[3].size());
        if (!context.planning())
            all.add(device, box[0].size(), box[1].size());
    }
    context.work.generated += static_cast<double>(result.totalElements());
    const std::int64_t floats = n * (largest + 1);
    const Block scratch = context.scratch(floats);
    if (context.planning())
        return {};
    return runTimed(context, result.mesh(), all.devices, [&](std::size_t index, int worker) {
        const Task& task = all.tasks[index];
        const Box& box = result.box(task.device);
        const std::int64_t columns = box[3].size();
        float* const old = scratch.floats() + worker * Context::scratchStride(floats);
        float* const state = old + n * columns;
        float* const out = result.data(task.device) + (task.batch * box[1].size() + task.head) * n * columns;
        const double start = coreSeconds();
        const std::int64_t sequence = box[0].lo + task.batch, head = box[1].lo + task.head;
        fillBox(*result.source, result.shape(), { { sequence, sequence + 1 }, { head, head + 1 }, box[2], box[3] }, old);
        const double spent = coreSeconds() - start;
        for (std::int64_t column = 0; column < columns; ++column) {
            for (std::int64_t i = 0; i < n; ++i)
                state[i] = old[i * columns + column];
            scanForward(scan.column(task.device, task.batch, task.head, column), state, {});
            for (std::int64_t i = 0; i < n; ++i)
                out[i * columns + column] = state[i];
        }
        return spent;
    });
}

Timing executeStateRead(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& q = *call.operands[0];
    const Sharded& state = *call.operands[1];
    const std::int64_t perKey = state.shape()[1] / q.shape()[2];
    const std::int64_t n = q.shape()[3];
    Tasks all;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        const Box& box = result.box(device);
        const Box& held = state.box(device);
        const Box& queries = q.box(device);
        requireSame(queries[0], box[0], call, "sequences");
        requireSame(held[0], box[0], call, "sequences");
        requireSame(held[1], box[2], call, "heads");
        requireWhole(held[2], n, call, "a key");
        requireWhole(queries[3], n, call, "a key");
        requireSame(held[3], box[3], call, "columns of the state");
        if (box[2].lo / perKey < queries[2].lo || (box[2].hi - 1) / perKey + 1 > queries[2].hi)
            failPlan("a device lacks the key heads of its heads", call.where);
        context.work.flops += 2.0 * static_cast<double>(state.elements(device));
        if (!context.planning())
            all.add(device, box[0].size(), box[2].size());
    }
    if (context.planning())
        return {};
    const float scale = call.attributes.scale != 0 ? static_cast<float>(call.attributes.scale) : 1.0f;
    return runTimed(context, result.mesh(), all.devices, [&](std::size_t index, int) {
        const Task& task = all.tasks[index];
        const Box& box = result.box(task.device);
        const Box& queries = q.box(task.device);
        const std::int64_t columns = box[3].size();
        const std::int64_t keyHead = (box[2].lo + task.head) / perKey - queries[2].lo;
        const float* const query = q.data(task.device) + (task.batch * queries[2].size() + keyHead) * n;
        const float* const held = state.data(task.device) + (task.batch * box[2].size() + task.head) * n * columns;
        float* const out = result.data(task.device) + (task.batch * box[2].size() + task.head) * columns;
        std::fill(out, out + columns, 0.0f);
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t column = 0; column < columns; ++column)
                out[column] += scale * query[i] * held[i * columns + column];
        return 0.0;
    });
}

} // namespace shardboard::engine
