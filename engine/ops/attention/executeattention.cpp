// SPDX-License-Identifier: Apache-2.0
// Rope with its gradient, KvAppend and Attention.
#include "engine/machine/failure.h"
#include "engine/machine/index.h"
#include "engine/ops/bodywork.h"
#include "engine/ops/kernels/attention.h"

#include <algorithm>
#include <cstring>

namespace shardboard::engine {

namespace {

constexpr std::int64_t kScoreFloats = std::int64_t { 1 } << 20; ///< scores that exist at once, for each worker

/// A block of queries of one head of one sequence on one device; indices are local to the device's shard.
struct HeadBlock {
    std::int64_t device = 0;
    std::int64_t batch = 0;
    std::int64_t head = 0;
    std::int64_t first = 0;
    std::int64_t last = 0;
};

struct AttentionSizes {
    std::int64_t cached = 0; ///< C
    std::int64_t fresh = 0; ///< S
    std::int64_t headsPerKv = 1;
    std::int64_t d = 0; ///< of queries and keys
    std::int64_t values = 0; ///< of results; the elements of a value that count
};

void checkAttention(const OpCall& call, const Sharded& result, const AttentionSizes& sizes, std::int64_t device)
{
    const Box& q = call.operands[0]->box(device);
    const Box& k = call.operands[1]->box(device);
    const Box& v = call.operands[2]->box(device);
    const Box& out = result.box(device);
    if (volumeOf(out) == 0)
        return;
    for (std::size_t d = 0; d < 3; ++d) {
        requireSame(q[d], out[d], call, "queries and result");
        requireSame(k[d], v[d], call, "keys and values");
    }
    requireSame(k[0], q[0], call, "sequences of queries and keys");
    requireWhole(k[1], sizes.cached, call, "the keys of a sequence");
    requireWhole(q[3], sizes.d, call, "a head");
    requireWhole(k[3], sizes.d, call, "a head");
    requireWhole(v[3], call.operands[2]->shape()[3], call, "a value");
    requireWhole(out[3], sizes.values, call, "a value");
    if (call.operands.size() > 3)
        requireSame(call.operands[3]->box(device)[0], q[2], call, "sinks and query heads");
    const Range needed { q[2].lo / sizes.headsPerKv, (q[2].hi - 1) / sizes.headsPerKv + 1 };
    if (needed.lo < k[2].lo || needed.hi > k[2].hi)
        failPlan("a device lacks the KV heads of its query heads", call.where);
}

void attendBlock(const OpCall& call, const AttentionSizes& sizes, const HeadBlock& block, float* scores, Sharded& result)
{
    const Sharded& q = *call.operands[0];
    const Box& qBox = q.box(block.device);
    const Box& kBox = call.operands[1]->box(block.device);
    const std::int64_t d = sizes.d;
    const std::int64_t heads = qBox[2].size();
    const std::int64_t kvHeads = kBox[2].size();
    const std::int64_t kvHead = (qBox[2].lo + block.head) / sizes.headsPerKv - kBox[2].lo;
    const std::int64_t row = (block.batch * qBox[1].size() + block.first) * heads + block.head;
    const std::int64_t kvRow = block.batch * sizes.cached * kvHeads + kvHead;
    const Sharded& v = *call.operands[2];
    const std::int64_t valueWidth = v.shape()[3];
    AttentionBlock work;
    work.queries = block.last - block.first;
    // Query s (global) sees the keys 0 … C-S+s; the last query of the block sees the most.
    work.firstQuery = sizes.cached - sizes.fresh + qBox[1].lo + block.first;
    work.causal = !call.attributes.bothWays;
    work.keys = work.causal ? work.firstQuery + work.queries : sizes.cached;
    if (call.attributes.alibi)
        work.slope = alibiSlope(qBox[2].lo + block.head, q.shape()[2]);
    work.headDim = d;
    work.valueDim = sizes.values;
    work.scale = call.attributes.scale;
    work.cap = call.attributes.cap;
    attendHead(work, { q.data(block.device) + row * d, heads * d },
               { call.operands[1]->data(block.device) + kvRow * d, kvHeads * d },
               { v.data(block.device) + kvRow * valueWidth, kvHeads * valueWidth },
               call.operands.size() > 3 ? call.operands[3]->data(block.device) + block.head : nullptr, scores,
               { result.data(block.device) + row * sizes.values, heads * sizes.values });
}

} // namespace

Timing executeRope(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& x = *call.operands[0];
    const std::int64_t sequence = result.shape()[1];
    const std::int64_t width = result.shape()[3];
    const std::int64_t d = rotatedOf(call, result);
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        for (std::size_t i = 0; i < 4; ++i)
            requireSame(x.box(device)[i], result.box(device)[i], call, "operand and result");
        requireWhole(result.box(device)[3], width, call, "a head");
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 2 + static_cast<double>(sequence * d) * 20;
    const Block angles = context.arena.allocateFloats(sequence * d);
    if (context.planning())
        return {};
    float* table = angles.floats(); // for each position d/2 cosines, then d/2 sines
    context.pool->run((sequence + 63) / 64, [&](std::int64_t part, int) {
        ropeAngles(call.attributes.position + part * 64, std::min<std::int64_t>(64, sequence - part * 64), d,
                   call.attributes.ropeTheta, table + part * 64 * d);
    });
    return runBody(context, result, ropeWork(call, result, table));
}

Timing executeKvAppend(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& x = *call.operands[0];
    const std::int64_t old = result.shape()[1] - x.shape()[1];
    if (old > 0 && !result.layout().partial.empty())
        failPlan("a cache cannot be partial", call.where);
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        const Box& from = x.box(device);
        const Box& to = result.box(device);
        for (const std::size_t d : { std::size_t { 0 }, std::size_t { 2 }, std::size_t { 3 } })
            requireSame(from[d], to[d], call, "new tokens and cache");
        if (to[1].hi > old && (to[1].hi - old > from[1].hi || std::max(to[1].lo - old, std::int64_t { 0 }) < from[1].lo))
            failPlan("a device lacks new tokens that belong to its part of the cache", call.where);
    }
    context.work.touched += static_cast<double>(x.totalElements()) * 2;
    context.work.generated += static_cast<double>(old > 0 ? result.totalElements() : 0);
    if (context.planning())
        return {};
    // A row is one token: [k, d].
    return runRows(context, result, rowPieces(result, 2, kPieceElements), [&](const RowPiece& piece, int) {
        const Box& box = result.box(piece.device);
        const Box& from = x.box(piece.device);
        const std::int64_t unit = box[2].size() * box[3].size();
        double spent = 0;
        for (std::int64_t row = piece.first; row < piece.last;) {
            const std::int64_t batch = row / box[1].size();
            const std::int64_t token = box[1].lo + row % box[1].size();
            float* out = result.data(piece.device) + row * unit;
            if (token < old) { // all old tokens of a sequence at once: the clock would take longer than one of them
                const double start = coreSeconds();
                const std::int64_t sequence = box[0].lo + batch;
                const std::int64_t last = std::min({ token + piece.last - row, box[1].hi, old });
                fillBox(*result.source, result.shape(), { { sequence, sequence + 1 }, { token, last }, box[2], box[3] }, out);
                spent += coreSeconds() - start;
                row += last - token;
            } else {
                const std::int64_t local = batch * from[1].size() + token - old - from[1].lo;
                std::memcpy(out, x.data(piece.device) + local * unit, at(unit) * sizeof(float));
                ++row;
            }
        }
        return spent;
    });
}

Timing executeAttention(Context& context, const OpCall& call, Sharded& result)
{
    if (call.rings != nullptr && !call.rings->empty())
        return executeRingAttention(context, call, result);
    const AttentionSizes sizes { call.operands[1]->shape()[1], result.shape()[1], result.shape()[2] / call.operands[1]->shape()[2],
                                 call.operands[0]->shape()[3], result.shape()[3] };
    const std::int64_t step = std::clamp<std::int64_t>(kScoreFloats / std::max<std::int64_t>(1, sizes.cached), 1, 256);
    const std::int64_t scratchFloats = attentionScratch(sizes.cached);
    std::vector<HeadBlock> blocks;
    std::vector<std::int64_t> devices;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        checkAttention(call, result, sizes, device);
        const Box& box = result.box(device);
        const auto rows =
            static_cast<double>(result.elements(device)) / static_cast<double>(std::max<std::int64_t>(1, sizes.values));
        context.work.flops += rows * static_cast<double>(sizes.d + sizes.values) * static_cast<double>(sizes.cached)
            * (sizes.fresh > 1 ? 1.2 : 2.0); // of a square of scores about half is computed
        context.work.touched += rows * static_cast<double>(sizes.cached) * 4;
        if (context.planning())
            continue;
        for (std::int64_t batch = 0; batch < box[0].size(); ++batch)
            for (std::int64_t head = 0; head < box[2].size(); ++head)
                for (std::int64_t row = 0; row < box[1].size(); row += step) {
                    blocks.push_back({ device, batch, head, row, std::min(box[1].size(), row + step) });
                    devices.push_back(device);
                }
    }
    const Block scratch = context.scratch(scratchFloats);
    if (context.planning())
        return {};
    return runTimed(context, result.mesh(), devices, [&](std::size_t index, int worker) {
        attendBlock(call, sizes, blocks[index], scratch.floats() + worker * Context::scratchStride(scratchFloats), result);
        return 0.0;
    });
}

} // namespace shardboard::engine
