// SPDX-License-Identifier: Apache-2.0
// Gradients of parts of the last dim and of what joined them: back to where the part was taken from, zeros elsewhere.
#include "engine/ops/bodywork.h"

#include <algorithm>

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
    if (context.planning())
        return {};
    const std::int64_t n = dy.shape()[3];
    const std::int64_t m = result.shape()[3];
    return runRows(context, result, rowPieces(result, 1, kPieceElements / 16), [&](const RowPiece& piece, int) {
        const std::int64_t heads = dy.box(piece.device)[2].size();
        for (std::int64_t row = piece.first; row < piece.last; ++row) {
            const float* in = dy.data(piece.device) + row * heads * n + call.attributes.first;
            float* out = result.data(piece.device) + row * m;
            std::fill_n(out, m, 0.0f);
            for (std::int64_t head = 0; head < heads; ++head, in += n)
                for (std::int64_t i = 0; i < m; ++i)
                    out[i] += in[i];
        }
        return 0.0;
    });
}

} // namespace shardboard::engine
