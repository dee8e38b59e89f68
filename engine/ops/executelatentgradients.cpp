// SPDX-License-Identifier: Apache-2.0
// Gradients of parts of the last dim and of what joined them: back to where the part was taken from, zeros elsewhere.
#include "engine/ops/bodywork.h"

namespace shardboard::engine {

Timing executePad(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    const bool everyOther = call.kind == OpKind::SpreadOther;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        const Range& in = dy.box(device).back();
        const Range& out = result.box(device).back();
        requireSameRows(dy.box(device), result.box(device), call, "gradient and result");
        if (everyOther) {
            requireSame({ 2 * in.lo, 2 * in.hi }, out, call, "elements of the gradient and pairs of the result");
        } else {
            requireWhole(in, dy.shape().back(), call, "the slice");
            requireWhole(out, result.shape().back(), call, "the dim that was sliced");
        }
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 2;
    return context.planning() ? Timing {} : runBody(context, result, moveWork(call, result));
}

/// Where a device has some of the heads it is a part of the sum.
Timing executeSumHeads(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        requireSame(dy.box(device)[0], result.box(device)[0], call, "sequences");
        requireSame(dy.box(device)[1], result.box(device)[1], call, "tokens");
        requireWhole(dy.box(device)[3], dy.shape()[3], call, "a head");
        requireWhole(result.box(device)[3], result.shape()[3], call, "the sum");
    }
    context.work.touched += static_cast<double>(dy.totalElements());
    return context.planning() ? Timing {} : runBody(context, result, moveWork(call, result));
}

} // namespace shardboard::engine
