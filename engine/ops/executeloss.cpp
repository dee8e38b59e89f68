// SPDX-License-Identifier: Apache-2.0
// Cross-entropy in its pieces: what a device works out from its columns of the logits.
#include "engine/ops/bodywork.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

void checkLoss(const OpCall& call, const Sharded& result, std::int64_t device)
{
    const Box& first = call.operands.front()->box(device);
    const Box& tokens = call.kind == OpKind::LogitGrad ? call.operands[1]->box(device) : result.box(device);
    if (volumeOf(tokens) == 0)
        return;
    for (std::size_t d = 0; d < tokens.size(); ++d)
        requireSame(first[d], tokens[d], call, "tokens of operand and result");
    for (std::size_t i = 1; i < call.operands.size(); ++i)
        requireSameBox(call.operands[i]->box(device), tokens, call, "tokens of the operands");
    if (call.kind == OpKind::LogitGrad)
        requireSameBox(first, result.box(device), call, "operand and result");
}

} // namespace

Timing executeLoss(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& logits = *call.operands.front(); // of TokenLoss: the largest logits
    for (std::int64_t device = 0; device < result.deviceCount(); ++device)
        checkLoss(call, result, device);
    context.work.touched += static_cast<double>(std::max(logits.totalElements(), result.totalElements())) * 4;
    return context.planning() ? Timing {} : runBody(context, result, lossWork(call, result));
}

} // namespace shardboard::engine
