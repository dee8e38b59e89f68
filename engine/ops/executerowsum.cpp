// SPDX-License-Identifier: Apache-2.0
// Gradients of norms' weights and of what was repeated over rows: sums over rows.
#include "engine/ops/bodywork.h"

namespace shardboard::engine {

Timing executeRowSum(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    const bool isNorm = call.kind != OpKind::SumLeading;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        requireSame(dy.box(device).back(), result.box(device)[0], call, "columns of gradient and result");
        if (!isNorm)
            continue;
        requireSameBox(call.operands[1]->box(device), dy.box(device), call, "gradient and operand");
        requireWhole(result.box(device)[0], result.shape()[0], call, "the normalised dim");
    }
    context.work.touched += static_cast<double>(dy.totalElements()) * (isNorm ? 3 : 1);
    return runRowSum(context, call, result, rowSumWork);
}

} // namespace shardboard::engine
