// SPDX-License-Identifier: Apache-2.0
// What the executors of attention and of its gradients share: the operands by name, the sizes of a block of work, and the
// checks that a device holds what it needs. Keys and values may lie in parts on the devices of a ring.
#pragma once

#include "engine/ops/execute.h"
#include "engine/ops/kernels/attentionblock.h"

namespace shardboard::engine {

/// A shard that a device works on: its own, or one that came to it.
struct AttentionPart {
    const float* data = nullptr;
    const Box* box = nullptr;

    /// The rows of one head of one sequence; indices are local to the part.
    ConstRows rows(std::int64_t batch, std::int64_t head) const;
};

/// Where row 0 of a head of a sequence begins in a shard [B,S,h,d].
std::int64_t headOffset(const Box& box, std::int64_t batch, std::int64_t head);

struct AttentionWork {
    AttentionWork(const OpCall& call, const Sharded& result);

    AttentionPart own(std::size_t operand, std::int64_t device) const;
    /// Positions and sizes for these queries and keys of a query head, local to its part.
    AttentionBlock block(const Box& queries, const Box& keys, std::int64_t head) const;
    /// The KV head of a query head, both local to their parts.
    std::int64_t kvHeadOf(const Box& queries, const Box& keys, std::int64_t head) const;
    /// The query heads of a KV head, local to their part; possibly none.
    Range headsOf(const Box& queries, const Box& keys, std::int64_t kvHead) const;
    /// The sink of a query head of a device, or null.
    const float* sink(std::int64_t device, std::int64_t head) const;
    /// Floating point operations of so many products of all scores, about half of which are computed where queries are new
    /// tokens.
    double flops(std::int64_t device, double products) const;

    /// Throws unless queries, keys and values of a device fit each other. Whether the keys suffice is another question.
    void checkFit(std::int64_t device) const;
    /// Throws unless the device has all keys.
    void checkWhole(std::int64_t device) const;

    const OpCall& call;
    std::size_t first = 0; ///< number of the queries among the operands: 1 for gradients, whose first operand is dy
    const Sharded& q;
    const Sharded& k;
    const Sharded& v;
    const Sharded* sinks = nullptr;
    const Sharded* dy = nullptr; ///< of gradients
    std::int64_t headsPerKv = 1;
    std::int64_t valueDim = 0; ///< elements of a value that count
};

/// Throws unless the operands of a device fit each other and its part of the result.
void checkAttentionGradient(const AttentionWork& work, const Sharded& result, std::int64_t device);

} // namespace shardboard::engine
