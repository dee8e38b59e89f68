// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/execute.h"

#include "engine/devices/executor.h"
#include "engine/machine/failure.h"
#include "engine/machine/index.h"
#include "engine/ops/kernels/activations.h"
#include "engine/ops/kernels/capped.h"
#include "engine/ops/kernels/norms.h"
#include "engine/ops/kernels/rows.h"
#include "engine/simd/vectors.h"

#include <algorithm>
#include <cstring>

namespace shardboard::engine {

namespace {

std::string text(const Range& range) { return "[" + std::to_string(range.lo) + ", " + std::to_string(range.hi) + ")"; }

/// How the second operand runs along the first: its distance for each dim of the first (0 where it is repeated).
std::vector<std::int64_t> broadcastStrides(const Box& a, const Box& b)
{
    std::vector<std::int64_t> strides(a.size(), 0);
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < b.size(); ++i) {
        const Range& range = b[b.size() - 1 - i];
        strides[a.size() - 1 - i] = range.size() == 1 ? 0 : stride;
        stride *= range.size();
    }
    return strides;
}

/// Offset in the second operand of row `row` of the first (a row is the last dim).
std::int64_t broadcastOffset(const Box& a, const std::vector<std::int64_t>& strides, std::int64_t row)
{
    std::int64_t offset = 0;
    for (std::size_t d = a.size() - 1; d-- > 0;) {
        offset += row % a[d].size() * strides[d];
        row /= a[d].size();
    }
    return offset;
}

void checkBroadcast(const OpCall& call, const Sharded& a, const Sharded& b, std::int64_t device)
{
    const std::size_t skip = a.shape().size() - b.shape().size();
    for (std::size_t d = 0; d < b.shape().size(); ++d)
        if (b.shape()[d] != 1 || a.shape()[d + skip] == 1)
            requireSame(a.box(device)[d + skip], b.box(device)[d], call, "the operands' shards");
}

} // namespace

void requireSame(const Range& a, const Range& b, const OpCall& call, const char* what)
{
    if (a != b && (a.size() > 0 || b.size() > 0))
        failPlan(std::string(what) + " do not fit on a device: " + text(a) + " and " + text(b), call.where);
}

void requireSameBox(const Box& a, const Box& b, const OpCall& call, const char* what)
{
    for (std::size_t d = 0; d < a.size(); ++d)
        requireSame(a[d], b[d], call, what);
}

void requireSameRows(const Box& a, const Box& b, const OpCall& call, const char* what)
{
    for (std::size_t d = 0; d + 1 < a.size(); ++d)
        requireSame(a[d], b[d], call, what);
}

void requireWhole(const Range& range, std::int64_t size, const OpCall& call, const char* what)
{
    if (range.lo != 0 || range.hi != size)
        failPlan(std::string(what) + " must be whole on a device that works on it, not " + text(range) + " of "
                     + std::to_string(size),
                 call.where);
}

std::vector<RowPiece> rowPieces(const Sharded& tensor, std::size_t unitDims, std::int64_t elements)
{
    std::vector<RowPiece> pieces;
    for (std::int64_t device = 0; device < tensor.deviceCount(); ++device) {
        const Box& box = tensor.box(device);
        std::int64_t unit = 1;
        for (std::size_t d = box.size() - unitDims; d < box.size(); ++d)
            unit *= box[d].size();
        const std::int64_t rows = unit == 0 ? 0 : volumeOf(box) / unit;
        const std::int64_t step = std::max<std::int64_t>(1, elements / std::max<std::int64_t>(1, unit));
        for (std::int64_t row = 0; row < rows; row += step)
            pieces.push_back({ device, row, std::min(rows, row + step) });
    }
    return pieces;
}

Timing runRows(Context& context, const Sharded& result, const std::vector<RowPiece>& pieces,
               const std::function<double(const RowPiece&, int)>& task)
{
    std::vector<std::int64_t> devices;
    for (const RowPiece& piece : pieces)
        devices.push_back(piece.device);
    return runTimed(context, result.mesh(), devices, [&](std::size_t index, int worker) { return task(pieces[index], worker); });
}

Timing executeElementwise(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& a = *call.operands[0];
    const bool binary = call.operands.size() == 2;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        requireSameBox(a.box(device), result.box(device), call, "operand and result");
        if (binary)
            checkBroadcast(call, a, *call.operands[1], device);
    }
    context.work.touched += static_cast<double>(result.totalElements()) * (binary ? 3 : 4);
    if (context.planning())
        return {};
    return runRows(context, result, rowPieces(result, 1, kPieceElements), [&](const RowPiece& piece, int) {
        const Box& box = result.box(piece.device);
        const std::int64_t n = box.back().size();
        const float* x = a.data(piece.device) + piece.first * n;
        float* out = result.data(piece.device) + piece.first * n;
        const std::int64_t count = (piece.last - piece.first) * n;
        if (call.kind == OpKind::Silu) {
            siluRow(x, count, out);
        } else if (call.kind == OpKind::Gelu) {
            geluRow(x, count, out);
        } else if (call.kind == OpKind::GeluTanh) {
            geluTanhRow(x, count, out);
        } else if (call.kind == OpKind::Scale) {
            scaleRow(x, static_cast<float>(call.attributes.scale), count, out);
        } else if (call.kind == OpKind::SoftCap) {
            softCapRow(x, static_cast<float>(call.attributes.cap), count, out);
        } else if (call.kind == OpKind::ClampedSwiglu) {
            clampedSwigluRow(x, call.operands[1]->data(piece.device) + piece.first * n, static_cast<float>(call.attributes.cap),
                             count, out);
        } else {
            const Sharded& b = *call.operands[1];
            const auto run = call.kind == OpKind::Add ? addRow : mulRow;
            if (b.box(piece.device) == box) {
                run(x, b.data(piece.device) + piece.first * n, false, count, out);
                return 0.0;
            }
            const auto strides = broadcastStrides(box, b.box(piece.device));
            for (std::int64_t row = piece.first; row < piece.last; ++row, x += n, out += n)
                run(x, b.data(piece.device) + broadcastOffset(box, strides, row), strides.back() == 0, n, out);
        }
        return 0.0;
    });
}

Timing executeRmsNorm(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& x = *call.operands[0];
    const Sharded& weight = *call.operands[1];
    const std::int64_t n = result.shape().back();
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        requireSameBox(x.box(device), result.box(device), call, "operand and result");
        if (result.elements(device) > 0) {
            requireWhole(x.box(device).back(), n, call, "the normalised dim");
            requireWhole(weight.box(device).back(), n, call, "the norm's weight");
        }
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 3;
    if (context.planning())
        return {};
    return runRows(context, result, rowPieces(result, 1, kPieceElements), [&](const RowPiece& piece, int) {
        rmsNormRows(RmsNorm { call.attributes.epsilon, static_cast<float>(call.attributes.offset) },
                    x.data(piece.device) + piece.first * n, weight.data(piece.device), piece.last - piece.first, n,
                    result.data(piece.device) + piece.first * n);
        return 0.0;
    });
}

Timing executeLayerNorm(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& x = *call.operands[0];
    const std::int64_t n = result.shape().back();
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        requireSameBox(x.box(device), result.box(device), call, "operand and result");
        for (std::size_t i = 0; i < 3 && result.elements(device) > 0; ++i)
            requireWhole(call.operands[i]->box(device).back(), n, call, i == 0 ? "the normalised dim" : "the norm's weight");
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 4;
    if (context.planning())
        return {};
    return runRows(context, result, rowPieces(result, 1, kPieceElements), [&](const RowPiece& piece, int) {
        layerNormRows(x.data(piece.device) + piece.first * n, call.operands[1]->data(piece.device),
                      call.operands[2]->data(piece.device), piece.last - piece.first, n, call.attributes.epsilon,
                      result.data(piece.device) + piece.first * n);
        return 0.0;
    });
}

Timing executeHeads(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& x = *call.operands[0];
    const Sharded& split = call.kind == OpKind::SplitHeads ? result : x;
    const Sharded& merged = call.kind == OpKind::SplitHeads ? x : result;
    const std::int64_t d = split.shape().back();
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        const Box& heads = split.box(device);
        const Box& flat = merged.box(device);
        if (result.elements(device) == 0 && x.elements(device) == 0)
            continue;
        for (std::size_t i = 0; i + 2 < heads.size(); ++i)
            requireSame(heads[i], flat[i], call, "operand and result");
        requireWhole(heads.back(), d, call, "a head");
        requireSame({ heads[heads.size() - 2].lo * d, heads[heads.size() - 2].hi * d }, flat.back(), call,
                    "heads and the shard of the merged dim");
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 2;
    if (context.planning())
        return {};
    return runRows(context, result, rowPieces(result, 1, kPieceElements), [&](const RowPiece& piece, int) {
        const std::int64_t n = result.box(piece.device).back().size();
        std::memcpy(result.data(piece.device) + piece.first * n, x.data(piece.device) + piece.first * n,
                    at((piece.last - piece.first) * n) * sizeof(float));
        return 0.0;
    });
}

Timing executeOutput(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& x = *call.operands[0];
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        requireSameBox(x.box(device), result.box(device), call, "operand and result");
        if (call.kind == OpKind::GatherLast && result.elements(device) > 0)
            requireWhole(result.box(device).back(), result.shape().back(), call, "the gathered dim");
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 2;
    if (context.planning())
        return {};
    Timing timing = runRows(context, result, rowPieces(result, 1, kPieceElements), [&](const RowPiece& piece, int) {
        const std::int64_t n = result.box(piece.device).back().size();
        std::memcpy(result.data(piece.device) + piece.first * n, x.data(piece.device) + piece.first * n,
                    at((piece.last - piece.first) * n) * sizeof(float));
        return 0.0;
    });
    timing.seconds.assign(timing.seconds.size(), 0.0); // it only names a value; the copy is the engine's own way
    return timing;
}

Timing executeOp(Context& context, const OpCall& call, Sharded& result)
{
    return context.executor != nullptr ? context.executor->op(context, call, result) : executeOpHere(context, call, result);
}

Timing executeOpHere(Context& context, const OpCall& call, Sharded& result)
{
    switch (call.kind) {
    case OpKind::Add:
    case OpKind::Mul:
    case OpKind::Silu:
    case OpKind::Gelu:
    case OpKind::GeluTanh:
    case OpKind::Scale:
    case OpKind::SoftCap:
    case OpKind::ClampedSwiglu:
        return executeElementwise(context, call, result);
    case OpKind::LayerNorm:
        return executeLayerNorm(context, call, result);
    case OpKind::SliceLast:
    case OpKind::EveryOther:
        return executeSlice(context, call, result);
    case OpKind::SplitGroups:
        return executeSplitGroups(context, call, result);
    case OpKind::JoinLast:
    case OpKind::JoinKeys:
        return executeJoin(context, call, result);
    case OpKind::AbsorbKeys:
    case OpKind::AbsorbValues:
        return executeAbsorb(context, call, result);
    case OpKind::TopKGates:
    case OpKind::BiasedTopKGates:
        return executeGates(context, call, result);
    case OpKind::Dispatch:
        return executeDispatch(context, call, result);
    case OpKind::ExpertLinear:
    case OpKind::ExpertLinearT:
        return executeExpertLinear(context, call, result);
    case OpKind::ExpertBias:
        return executeExpertBias(context, call, result);
    case OpKind::Combine:
        return executeCombine(context, call, result);
    case OpKind::RmsNorm:
        return executeRmsNorm(context, call, result);
    case OpKind::Output:
    case OpKind::GatherLast:
    case OpKind::ReduceGrad:
        return executeOutput(context, call, result);
    case OpKind::SplitHeads:
    case OpKind::MergeHeads:
        return executeHeads(context, call, result);
    case OpKind::Linear:
        return executeLinear(context, call, result);
    case OpKind::Embedding:
        return executeEmbedding(context, call, result);
    case OpKind::Rope:
    case OpKind::RopeGrad:
        return executeRope(context, call, result);
    case OpKind::KvAppend:
        return executeKvAppend(context, call, result);
    case OpKind::Attention:
    case OpKind::SinkAttention:
        return executeAttention(context, call, result);
    case OpKind::LogitMax:
    case OpKind::SumExp:
    case OpKind::TargetLogit:
    case OpKind::TokenLoss:
    case OpKind::LogitGrad:
        return executeLoss(context, call, result);
    case OpKind::LinearGradX:
        return executeLinearGradX(context, call, result);
    case OpKind::LinearGradW:
        return executeLinearGradW(context, call, result);
    case OpKind::EmbeddingGrad:
        return executeEmbeddingGrad(context, call, result);
    case OpKind::RmsNormGradX:
    case OpKind::SiluGrad:
    case OpKind::GeluGrad:
    case OpKind::LayerNormGradX:
    case OpKind::GeluTanhGrad:
    case OpKind::SoftCapGrad:
    case OpKind::ClampedSwigluGradGate:
    case OpKind::ClampedSwigluGradUp:
        return executeRowGradient(context, call, result);
    case OpKind::RmsNormGradW:
    case OpKind::LayerNormGradW:
    case OpKind::SumLeading:
        return executeRowSum(context, call, result);
    case OpKind::AttentionGradQ:
    case OpKind::AttentionGradK:
    case OpKind::AttentionGradV:
    case OpKind::SinkAttentionGradQ:
    case OpKind::SinkAttentionGradK:
    case OpKind::SinkAttentionGradV:
    case OpKind::SinkAttentionGradS:
        return executeAttentionGradient(context, call, result);
    case OpKind::PadLast:
    case OpKind::SpreadOther:
        return executePad(context, call, result);
    case OpKind::MergeGroups:
        return executeMergeGroups(context, call, result);
    case OpKind::SumHeads:
        return executeSumHeads(context, call, result);
    case OpKind::TopKGatesGrad:
    case OpKind::BiasedTopKGatesGrad:
        return executeGatesGrad(context, call, result);
    case OpKind::DispatchGrad:
        return executeDispatchGrad(context, call, result);
    case OpKind::ExpertLinearGradW:
        return executeExpertLinearGradW(context, call, result);
    case OpKind::ExpertBiasGrad:
        return executeExpertBiasGrad(context, call, result);
    case OpKind::CombineGradY:
        return executeCombineGradY(context, call, result);
    case OpKind::CombineGradGates:
        return executeCombineGradGates(context, call, result);
    case OpKind::AdamStep:
        return executeAdamStep(context, call, result);
    }
    failPlan("an operation that the cpu backend does not know", call.where);
}

} // namespace shardboard::engine
