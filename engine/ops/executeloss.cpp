// SPDX-License-Identifier: Apache-2.0
// Cross-entropy in its pieces: what a device works out from its columns of the logits.
#include "engine/ops/execute.h"
#include "engine/ops/kernels/crossentropy.h"

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
    const bool columns = call.kind != OpKind::TokenLoss;
    const Sharded& tokens = call.kind == OpKind::LogitGrad ? *call.operands[1] : result;
    std::int64_t widest = 1;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        checkLoss(call, result, device);
        if (columns)
            widest = std::max(widest, logits.box(device).back().size());
    }
    context.work.touched += static_cast<double>(std::max(logits.totalElements(), result.totalElements())) * 4;
    if (context.planning())
        return {};
    // The mean over the tokens of all micro-batches: what makes their gradients add up to that of the whole batch.
    const double count =
        static_cast<double>(volumeOf(boxAt(tokens.shape(), Layout::replicated(tokens.shape().size()), tokens.mesh(), 0)))
        * static_cast<double>(call.microBatches);
    const auto scale = static_cast<float>(1.0 / count);
    const auto pieces = rowPieces(tokens, 0, std::max<std::int64_t>(1, kPieceElements / widest));
    return runRows(context, result, pieces, [&](const RowPiece& piece, int) {
        const auto operand = [&](std::size_t i) { return call.operands[i]->data(piece.device) + piece.first; };
        const std::int64_t rows = piece.last - piece.first;
        if (!columns) {
            crossEntropyLoss(rows, operand(0), operand(1), operand(2), nullptr, scale, result.data(piece.device) + piece.first);
            return 0.0;
        }
        const Range held = logits.box(piece.device).back();
        const VocabularyRange range { rows, held.lo, held.size() };
        const float* values = logits.data(piece.device) + piece.first * range.n;
        float* out = result.data(piece.device) + piece.first * (call.kind == OpKind::LogitGrad ? range.n : 1);
        if (call.kind == OpKind::LogitMax)
            crossEntropyHighest(range, values, out);
        else if (call.kind == OpKind::SumExp)
            crossEntropySum(range, values, operand(1), out);
        else if (call.kind == OpKind::TargetLogit)
            crossEntropyTargetLogit(range, values, operand(1), out);
        else
            crossEntropyGradient(range, values, operand(1), operand(2), operand(3), scale, nullptr, out);
        return 0.0;
    });
}

} // namespace shardboard::engine
