// SPDX-License-Identifier: Apache-2.0
// Gradients of mixtures of experts in the dense form. Rows of tokens that an expert did not get are zeros and are skipped. A
// device that has some of the experts makes a part of the sums over experts, one that has some of the tokens a part of the
// sums over tokens.
#include "engine/machine/gemm.h"
#include "engine/machine/index.h"
#include "engine/ops/bodywork.h"
#include "engine/ops/expertwork.h"
#include "engine/ops/kernels/packedrows.h"

#include <algorithm>
#include <cstring>

namespace shardboard::engine {

namespace {

constexpr std::int64_t kColumnsAtOnce = 1024; ///< of the first operand for each task

} // namespace

Timing executeGatesGrad(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    const Sharded& logits = *call.operands[1];
    const Sharded* bias = call.operands.size() > 2 ? call.operands[2] : nullptr;
    const std::int64_t experts = result.shape().back();
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        requireSameBox(dy.box(device), result.box(device), call, "gradient and result");
        requireSameBox(logits.box(device), result.box(device), call, "operand and result");
        requireWhole(result.box(device).back(), experts, call, "the experts that are chosen from");
        if (bias != nullptr)
            requireWhole(bias->box(device)[0], experts, call, "the bias of the choice");
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 10;
    return context.planning() ? Timing {} : runBody(context, result, gateWork(call, result));
}

Timing executeDispatchGrad(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    const Sharded& gates = *call.operands[1];
    for (std::int64_t device = 0; device < result.deviceCount(); ++device)
        if (result.elements(device) > 0)
            requireSameExperts(call, result.box(device), gates.box(device), dy.box(device), true);
    context.work.touched += static_cast<double>(dy.totalElements()) + static_cast<double>(result.totalElements());
    return context.planning() ? Timing {} : runBody(context, result, routeWork(call, result));
}

Timing executeCombineGradY(Context& context, const OpCall& call, Sharded& result) { return spreadToExperts(context, call, result); }

/// Of a token that an expert did not get the rows are zeros, and so is the product.
Timing executeCombineGradGates(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    const Sharded& y = *call.operands[1];
    for (std::int64_t device = 0; device < result.deviceCount(); ++device)
        if (result.elements(device) > 0)
            requireSameExperts(call, dy.box(device), result.box(device), y.box(device), true);
    context.work.touched += static_cast<double>(y.totalElements()) + static_cast<double>(dy.totalElements());
    return context.planning() ? Timing {} : runBody(context, result, gateDotWork(call, result));
}

Timing executeExpertBiasGrad(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        requireSame(dy.box(device)[0], result.box(device)[0], call, "experts of gradient and result");
        requireSame(dy.box(device)[3], result.box(device)[1], call, "columns of gradient and result");
    }
    context.work.touched += static_cast<double>(dy.totalElements());
    return runRowSum(context, call, result, expertBiasGradWork);
}

/// Of every expert at b over the tokens that it got.
Timing executeExpertLinearGradW(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& a = *call.operands[0];
    const Sharded& b = *call.operands[1];
    std::int64_t widest = 1;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        for (std::size_t d = 0; d < 3; ++d)
            requireSame(a.box(device)[d], b.box(device)[d], call, "experts and tokens of the operands");
        requireSame(a.box(device)[0], result.box(device)[0], call, "experts of operand and result");
        requireSame(a.box(device)[3], result.box(device)[1], call, "columns of the first operand and rows of the result");
        requireSame(b.box(device)[3], result.box(device)[2], call, "columns of the second operand and of the result");
        widest = std::max(widest, b.box(device)[3].size());
        context.work.flops += 2.0 * static_cast<double>(result.elements(device)) * static_cast<double>(tokensOf(a.box(device)));
    }
    context.work.touched += static_cast<double>(result.totalElements());
    const std::int64_t scratchFloats = kRowsAtOnce * (widest + kColumnsAtOnce);
    const Block scratch = context.scratch(scratchFloats);
    if (context.planning())
        return {};
    std::vector<ExpertTask> tasks;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device)
        for (std::int64_t expert = 0; result.elements(device) > 0 && expert < result.box(device)[0].size(); ++expert)
            for (std::int64_t first = 0; first < result.box(device)[1].size(); first += kColumnsAtOnce)
                tasks.push_back({ device, expert, first, std::min(first + kColumnsAtOnce, result.box(device)[1].size()) });
    return runExperts(context, result, tasks, [&](const ExpertTask& task, int worker) {
        const std::int64_t tokens = tokensOf(a.box(task.device));
        const std::int64_t out = result.box(task.device)[1].size();
        const std::int64_t in = result.box(task.device)[2].size();
        const std::int64_t count = task.last - task.first;
        const float* left = a.data(task.device) + task.expert * tokens * out + task.first;
        const float* right = b.data(task.device) + task.expert * tokens * in;
        float* dw = result.data(task.device) + (task.expert * out + task.first) * in;
        float* packedRight = scratch.floats() + worker * Context::scratchStride(scratchFloats);
        float* packedLeft = packedRight + kRowsAtOnce * in;
        bool any = false;
        for (std::int64_t first = 0; first < tokens; first += kRowsAtOnce) {
            context.pool->checkCancelled();
            const auto rows = nonZeroRows(right + first * in, std::min(kRowsAtOnce, tokens - first), in);
            const auto used = static_cast<std::int64_t>(rows.size());
            if (used == 0)
                continue;
            packRows(right + first * in, rows, in, packedRight);
            for (std::int64_t i = 0; i < used; ++i)
                std::memcpy(packedLeft + i * count, left + (first + rows[at(i)]) * out, at(count) * sizeof(float));
            sgemm(true, false, count, in, used, 1, packedLeft, count, packedRight, in, any ? 1.0f : 0.0f, dw, in);
            any = true;
        }
        if (!any)
            std::memset(dw, 0, at(count * in) * sizeof(float));
        return 0.0;
    });
}

} // namespace shardboard::engine
