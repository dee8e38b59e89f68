// SPDX-License-Identifier: Apache-2.0
// Parts of the last dim, the last token, what joins them again, and latent attention's products with the heads of a weight.
#include "engine/machine/failure.h"
#include "engine/machine/gemm.h"
#include "engine/ops/bodywork.h"

#include <algorithm>

namespace shardboard::engine {

Timing executeSlice(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& x = *call.operands[0];
    const bool everyOther = call.kind == OpKind::EveryOther;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        const Range& in = x.box(device).back();
        const Range& out = result.box(device).back();
        if (call.kind == OpKind::LastToken) { // of a cut sequence the devices that do not have it add zeros
            requireSame(x.box(device)[0], result.box(device)[0], call, "sequences");
            requireWhole(result.box(device)[1], 1, call, "the last token");
            requireSame(in, out, call, "operand and result");
            continue;
        }
        requireSameRows(x.box(device), result.box(device), call, "operand and result");
        if (everyOther) {
            requireSame(in, { 2 * out.lo, 2 * out.hi }, call, "pairs of the operand and elements of the result");
        } else {
            requireWhole(in, x.shape().back(), call, "the dim that is sliced");
            requireWhole(out, result.shape().back(), call, "the slice");
        }
    }
    context.work.touched += static_cast<double>(result.totalElements()) * (everyOther ? 3 : 2);
    return context.planning() ? Timing {} : runBody(context, result, moveWork(call, result));
}

Timing executeJoin(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& a = *call.operands[0];
    const Sharded& b = *call.operands[1];
    const bool repeated = call.kind == OpKind::JoinKeys; // one row of b for all heads
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        const Box& box = result.box(device);
        requireSameRows(a.box(device), box, call, "operand and result");
        for (std::size_t d = 0; d + (repeated ? 2 : 1) < box.size(); ++d)
            requireSame(b.box(device)[d], box[d], call, "operands and result");
        requireWhole(a.box(device).back(), a.shape().back(), call, "what is joined");
        if (repeated)
            requireWhole(b.box(device)[2], 1, call, "what goes to every head");
        requireWhole(b.box(device).back(), b.shape().back(), call, "what is joined");
        requireWhole(box.back(), result.shape().back(), call, "the joined dim");
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 2;
    return context.planning() ? Timing {} : runBody(context, result, moveWork(call, result));
}

Timing executeAbsorb(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& x = *call.operands[0];
    const Sharded& weight = *call.operands[1];
    const bool keys = call.kind == OpKind::AbsorbKeys;
    const std::int64_t heads = result.shape()[2];
    const std::int64_t unit = weight.shape()[0] / heads; // rows of the weight that belong to a head
    const std::int64_t part = keys ? x.shape()[3] : result.shape()[3]; // of them the first, or the last
    std::vector<std::int64_t> devices;
    std::vector<std::int64_t> localHeads;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        const Box& in = x.box(device);
        const Box& out = result.box(device);
        requireSameRows(in, out, call, "operand and result");
        requireSame({ out[2].lo * unit, out[2].hi * unit }, weight.box(device)[0], call, "heads and the rows of the weight");
        requireSame(keys ? out[3] : in[3], weight.box(device)[1], call, "the latent dim and the weight's");
        requireWhole(keys ? in[3] : out[3], part, call, "a head");
        context.work.flops += 2.0 * static_cast<double>(result.elements(device)) * static_cast<double>(in[3].size());
        for (std::int64_t head = 0; head < out[2].size(); ++head) {
            devices.push_back(device);
            localHeads.push_back(head);
        }
    }
    if (context.planning())
        return {};
    return runTimed(context, result.mesh(), devices, [&](std::size_t index, int) {
        const std::int64_t device = devices[index];
        const std::int64_t head = localHeads[index];
        const Box& out = result.box(device);
        const std::int64_t k = x.box(device)[3].size();
        const std::int64_t n = out[3].size();
        const std::int64_t latent = weight.box(device)[1].size();
        const float* rows = weight.data(device) + (head * unit + (keys ? 0 : unit - part)) * latent;
        sgemm(false, !keys, out[0].size() * out[1].size(), n, k, 1, x.data(device) + head * k, out[2].size() * k, rows, latent, 0,
              result.data(device) + head * n, out[2].size() * n);
        return 0.0;
    });
}

} // namespace shardboard::engine
