// SPDX-License-Identifier: Apache-2.0
// Gradients of norms' weights and of what was repeated over rows: sums over rows.
#include "engine/ops/execute.h"
#include "engine/ops/kernels/norms.h"
#include "engine/ops/kernels/reduce.h"

#include <cstring>

namespace shardboard::engine {

Timing executeRowSum(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    const bool isNorm = call.kind != OpKind::SumLeading;
    std::vector<std::int64_t> devices;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        devices.push_back(device);
        requireSame(dy.box(device).back(), result.box(device)[0], call, "columns of gradient and result");
        if (!isNorm)
            continue;
        requireSameBox(call.operands[1]->box(device), dy.box(device), call, "gradient and operand");
        requireWhole(result.box(device)[0], result.shape()[0], call, "the normalised dim");
    }
    context.work.touched += static_cast<double>(dy.totalElements()) * (isNorm ? 3 : 1);
    if (context.planning())
        return {};
    return runTimed(context, result.mesh(), devices, [&](std::size_t index, int) {
        const std::int64_t device = devices[index];
        const std::int64_t n = result.elements(device);
        float* sums = result.data(device);
        std::memset(sums, 0, static_cast<std::size_t>(n) * sizeof(float));
        if (isNorm)
            normWeightGradient(call.kind == OpKind::LayerNormGradW, call.attributes.epsilon, dy.data(device),
                               call.operands[1]->data(device), dy.elements(device) / n, n, sums);
        else
            addColumnSums(dy.data(device), dy.elements(device) / n, n, sums);
        return 0.0;
    });
}

} // namespace shardboard::engine
