// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/attention/attentionwork.h"

#include "engine/machine/failure.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

bool isForward(OpKind kind) { return kind == OpKind::Attention || kind == OpKind::SinkAttention; }

} // namespace

std::int64_t headOffset(const Box& box, std::int64_t batch, std::int64_t head)
{
    return (batch * box[1].size() * box[2].size() + head) * box[3].size();
}

ConstRows AttentionPart::rows(std::int64_t batch, std::int64_t head) const
{
    return { data + headOffset(*box, batch, head), (*box)[2].size() * (*box)[3].size() };
}

AttentionWork::AttentionWork(const OpCall& from, const Sharded& result)
    : call(from)
    , first(isForward(from.kind) ? 0 : 1)
    , q(*from.operands[first])
    , k(*from.operands[first + 1])
    , v(*from.operands[first + 2])
    , sinks(from.operands.size() > first + 3 ? from.operands[first + 3] : nullptr)
    , dy(first > 0 ? from.operands[0] : nullptr)
    , headsPerKv(q.shape()[2] / k.shape()[2])
    , valueDim(dy != nullptr ? dy->shape()[3] : result.shape()[3])
{
}

AttentionPart AttentionWork::own(std::size_t operand, std::int64_t device) const
{
    const Sharded& tensor = *call.operands[operand];
    return { tensor.data(device), &tensor.box(device) };
}

AttentionBlock AttentionWork::block(const Box& queries, const Box& keys, std::int64_t head) const
{
    AttentionBlock block;
    block.queries = queries[1].size();
    block.keys = keys[1].size();
    block.headDim = queries[3].size();
    block.valueDim = valueDim;
    block.firstQuery = k.shape()[1] - q.shape()[1] + queries[1].lo;
    block.firstKey = keys[1].lo;
    block.causal = !call.attributes.bothWays;
    if (call.attributes.alibi)
        block.slope = alibiSlope(queries[2].lo + head, q.shape()[2]);
    block.scale = call.attributes.scale;
    block.cap = call.attributes.cap;
    return block;
}

std::int64_t AttentionWork::kvHeadOf(const Box& queries, const Box& keys, std::int64_t head) const
{
    return (queries[2].lo + head) / headsPerKv - keys[2].lo;
}

Range AttentionWork::headsOf(const Box& queries, const Box& keys, std::int64_t kvHead) const
{
    const std::int64_t head = (keys[2].lo + kvHead) * headsPerKv;
    const std::int64_t lo = std::max(queries[2].lo, head);
    return { lo - queries[2].lo, std::max(lo, std::min(queries[2].hi, head + headsPerKv)) - queries[2].lo };
}

const float* AttentionWork::sink(std::int64_t device, std::int64_t head) const
{
    return sinks != nullptr ? sinks->data(device) + head : nullptr;
}

double AttentionWork::flops(std::int64_t device, double products) const
{
    return products * static_cast<double>(q.elements(device)) * static_cast<double>(k.shape()[1]) * (q.shape()[1] > 1 ? 1.2 : 2.0);
}

void AttentionWork::checkFit(std::int64_t device) const
{
    const Box& queries = q.box(device);
    const Box& keys = k.box(device);
    requireSame(keys[0], queries[0], call, "sequences of queries and keys");
    for (std::size_t d = 0; d < 3; ++d) {
        requireSame(keys[d], v.box(device)[d], call, "keys and values");
        if (dy != nullptr)
            requireSame(dy->box(device)[d], queries[d], call, "gradient and queries");
    }
    for (const Sharded* tensor : { &q, &k, &v, dy })
        if (tensor != nullptr)
            requireWhole(tensor->box(device)[3], tensor->shape()[3], call, "a head");
    if (sinks != nullptr)
        requireSame(sinks->box(device)[0], queries[2], call, "sinks and query heads");
    if (volumeOf(queries) == 0)
        return;
    const Range needed { queries[2].lo / headsPerKv, (queries[2].hi - 1) / headsPerKv + 1 };
    if (needed.lo < keys[2].lo || needed.hi > keys[2].hi)
        failPlan("a device lacks the KV heads of its query heads", call.where);
}

void AttentionWork::checkWhole(std::int64_t device) const
{
    requireWhole(k.box(device)[1], k.shape()[1], call, "the keys of a sequence");
}

} // namespace shardboard::engine
