// SPDX-License-Identifier: Apache-2.0
// Gradients of norms and activations, row by row, and those that are sums over rows.
#include "engine/ops/execute.h"
#include "engine/ops/kernels/activations.h"
#include "engine/ops/kernels/capped.h"
#include "engine/ops/kernels/norms.h"
#include "engine/ops/kernels/reduce.h"

#include <cstring>

namespace shardboard::engine {

namespace {

bool isNormGradient(OpKind kind) { return kind == OpKind::RmsNormGradX || kind == OpKind::LayerNormGradX; }
bool isSwigluGradient(OpKind kind) { return kind == OpKind::ClampedSwigluGradGate || kind == OpKind::ClampedSwigluGradUp; }

/// Of activations of one operand, and with `up` of the gate and the up projection.
void activationGradient(const OpCall& call, const float* dy, const float* x, const float* up, std::int64_t n, float* dx)
{
    const auto cap = static_cast<float>(call.attributes.cap);
    switch (call.kind) {
    case OpKind::SiluGrad:
        return siluBackwardRow(dy, x, n, dx);
    case OpKind::GeluGrad:
        return geluBackwardRow(dy, x, n, dx);
    case OpKind::GeluTanhGrad:
        return geluTanhBackwardRow(dy, x, n, dx);
    case OpKind::SoftCapGrad:
        return softCapBackwardRow(dy, x, cap, n, dx);
    case OpKind::ClampedSwigluGradGate:
        return clampedSwigluGateBackwardRow(dy, x, up, cap, n, dx);
    default:
        return clampedSwigluUpBackwardRow(dy, x, up, cap, n, dx);
    }
}

} // namespace

Timing executeRowGradient(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    const Sharded& x = *call.operands[1];
    const bool isNorm = isNormGradient(call.kind);
    const Sharded* up = isSwigluGradient(call.kind) ? call.operands[2] : nullptr;
    const RmsNorm norm { call.attributes.epsilon, static_cast<float>(call.attributes.offset) };
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        requireSameBox(dy.box(device), result.box(device), call, "gradient and result");
        requireSameBox(x.box(device), result.box(device), call, "operand and result");
        if (up != nullptr)
            requireSameBox(up->box(device), result.box(device), call, "operand and result");
        if (isNorm && result.elements(device) > 0) {
            requireWhole(result.box(device).back(), result.shape().back(), call, "the normalised dim");
            requireWhole(call.operands[2]->box(device).back(), result.shape().back(), call, "the norm's weight");
        }
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 5;
    if (context.planning())
        return {};
    return runRows(context, result, rowPieces(result, 1, kPieceElements), [&](const RowPiece& piece, int) {
        const std::int64_t n = result.box(piece.device).back().size();
        const std::int64_t rows = piece.last - piece.first;
        const float* gradient = dy.data(piece.device) + piece.first * n;
        const float* in = x.data(piece.device) + piece.first * n;
        float* out = result.data(piece.device) + piece.first * n;
        if (call.kind == OpKind::RmsNormGradX)
            rmsNormBackwardRows(norm, gradient, in, call.operands[2]->data(piece.device), rows, n, out);
        else if (isNorm)
            layerNormBackwardRows(gradient, in, call.operands[2]->data(piece.device), rows, n, call.attributes.epsilon, out);
        else
            activationGradient(call, gradient, in, up != nullptr ? up->data(piece.device) + piece.first * n : nullptr, rows * n,
                               out);
        return 0.0;
    });
}

Timing executeRowSum(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    const bool isNorm = call.kind != OpKind::SumLeading;
    const RmsNorm norm { call.attributes.epsilon, static_cast<float>(call.attributes.offset) };
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
        if (call.kind == OpKind::LayerNormGradW)
            layerNormWeightGradient(dy.data(device), call.operands[1]->data(device), dy.elements(device) / n, n,
                                    call.attributes.epsilon, sums, nullptr);
        else if (isNorm)
            rmsNormWeightGradient(norm, dy.data(device), call.operands[1]->data(device), dy.elements(device) / n, n, sums);
        else
            addColumnSums(dy.data(device), dy.elements(device) / n, n, sums);
        return 0.0;
    });
}

} // namespace shardboard::engine
