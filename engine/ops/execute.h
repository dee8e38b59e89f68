// SPDX-License-Identifier: Apache-2.0
// Executes one operation on every logical device, from local shards only.
#pragma once

#include "engine/devices/context.h"
#include "engine/devices/sharded.h"
#include "engine/ops/opbody.h"

#include <string>
#include <vector>

namespace shardboard::engine {

/// Adam with bias correction and decoupled weight decay (AdamW).
struct AdamSettings {
    double rate = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weightDecay = 0;
};
/// Of every run's AdamStep. Adam's first step is rate times the sign of the gradient, so where a gradient is so near to 0 that
/// its sign is a matter of rounding, two right results differ by twice the rate: with this rate, in the sum over a weight
/// of 1 / sqrt(16384), by less than the tolerance of gradients, while a wrong gradient still shows in a norm's weight around 1.
/// A gradient that is 0 but for rounding stays small beside this epsilon, which is larger than usual: that of a bias of keys that
/// are not rotated, to which softmax is blind, comes out as the rounding of the addends that cancel in it, some 1e-8.
inline constexpr AdamSettings kAdam { .rate = 2e-4, .epsilon = 1e-6 };

/// Of SgdStep, whose moment starts at 0: so large that a wrong gradient shows beside the weight.
inline constexpr double kSgdRate = 1;

/// Of a weight, that a worker makes up at once.
inline constexpr std::int64_t kChunkFloats = std::int64_t { 1 } << 22;

/// An operand that goes around the rings of devices over these mesh axes while the operation runs.
struct RingTransfer {
    std::size_t operand = 0;
    std::vector<int> axes;
    bool shared = false; ///< an operation before has brought it to the devices already: it is read where it lies
    bool broken = false; ///< test hook: the last part arrives as zeros
    Timing timing; ///< filled: what the hops took
};

struct OpCall {
    OpKind kind = OpKind::Add;
    OpAttributes attributes;
    std::vector<const Sharded*> operands; ///< in the layouts in which the operation takes them
    std::string where; ///< names the operation in errors
    std::int64_t microBatches = 1; ///< that make up a step: the loss is the mean over the tokens of all
    bool bf16 = false; ///< all operands hold bfloat16 values: products may be made of such
    std::vector<RingTransfer>* rings = nullptr; ///< null or empty: every device works on its own shards only
};

/// Fills the shards of `result`, which has memory. Weights of Linear, LinearGradX, Embedding and AdamStep may have a source
/// instead of memory: they are made piece by piece. For KvAppend `result.source` makes the tokens that were cached before. Throws
/// Failure "bad-plan" when a device does not hold what its part of the result needs. When planning, only the work is counted.
Timing executeOp(Context& context, const OpCall& call, Sharded& result);

/// The bodies of the threads of this process, by what does the work (opbody.h).
#define SHARDBOARD_OP_BODY(Body) Timing execute##Body(Context& context, const OpCall& call, Sharded& result);
SHARDBOARD_OP_BODIES(SHARDBOARD_OP_BODY)
#undef SHARDBOARD_OP_BODY
/// With operands that go around a ring.
Timing executeRingAttention(Context& context, const OpCall& call, Sharded& result);
Timing executeRingAttentionGradient(Context& context, const OpCall& call, Sharded& result);

/// Throws when two ranges of a device differ; `what` says what they are.
void requireSame(const Range& a, const Range& b, const OpCall& call, const char* what);
void requireSameBox(const Box& a, const Box& b, const OpCall& call, const char* what);
/// The rows of two operands: all dims but the last.
void requireSameRows(const Box& a, const Box& b, const OpCall& call, const char* what);
/// Throws unless the device holds the whole dim.
void requireWhole(const Range& range, std::int64_t size, const OpCall& call, const char* what);

/// Rows [first, last) of a device, a row being the last `unitDims` dims of its shard of the result.
struct RowPiece {
    std::int64_t device = 0;
    std::int64_t first = 0;
    std::int64_t last = 0;
};
/// Cuts the rows of all devices into pieces of about `elements` elements.
std::vector<RowPiece> rowPieces(const Sharded& tensor, std::size_t unitDims, std::int64_t elements);
/// runTimed over row pieces.
Timing runRows(Context& context, const Sharded& result, const std::vector<RowPiece>& pieces,
               const std::function<double(const RowPiece& piece, int worker)>& task);

} // namespace shardboard::engine
