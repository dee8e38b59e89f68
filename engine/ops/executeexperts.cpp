// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts in the dense form: tensors [experts, batch, sequence, n] whose rows are zeros where the router did not
// choose the expert. Such rows are skipped.
#include "engine/machine/gemm.h"
#include "engine/machine/index.h"
#include "engine/ops/bodywork.h"
#include "engine/ops/expertwork.h"
#include "engine/ops/kernels/packedrows.h"

#include <algorithm>
#include <cstring>

namespace shardboard::engine {

namespace {

/// y = x W (or x Wt) for the rows of x [rows, k] that hold data; the others become zeros. `y` has rows of `stride` elements.
struct Product {
    bool transposed = false; ///< W is [k, n], else [n, k]
    std::int64_t rows = 0, k = 0, n = 0;
    const float* weight = nullptr;
    std::int64_t weightStride = 0;
    std::int64_t stride = 0;
};

void multiplyRows(const Context& context, const Product& product, const float* x, float* scratch, float* y)
{
    float* packedX = scratch;
    float* packedY = scratch + kRowsAtOnce * product.k;
    for (std::int64_t first = 0; first < product.rows; first += kRowsAtOnce) {
        context.pool->checkCancelled();
        const std::int64_t count = std::min(kRowsAtOnce, product.rows - first);
        const auto rows = nonZeroRows(x + first * product.k, count, product.k);
        const auto used = static_cast<std::int64_t>(rows.size());
        packRows(x + first * product.k, rows, product.k, packedX);
        if (used > 0)
            sgemm(false, !product.transposed, used, product.n, product.k, 1, packedX, product.k, product.weight,
                  product.weightStride, 0, packedY, product.n);
        for (std::int64_t row = 0; row < count; ++row)
            std::memset(y + (first + row) * product.stride, 0, at(product.n) * sizeof(float));
        for (std::int64_t i = 0; i < used; ++i)
            std::memcpy(y + (first + rows[at(i)]) * product.stride, packedY + i * product.n, at(product.n) * sizeof(float));
    }
}

void checkExpertLinear(const OpCall& call, const Sharded& result, std::int64_t device, bool transposed)
{
    const Box& x = call.operands[0]->box(device);
    const Box& weight = call.operands[1]->box(device);
    const Box& y = result.box(device);
    if (volumeOf(y) == 0)
        return;
    for (std::size_t d = 0; d < 3; ++d)
        requireSame(x[d], y[d], call, "experts and tokens of operand and result");
    requireSame(weight[0], y[0], call, "experts of weight and result");
    requireSame(x[3], weight[transposed ? 1 : 2], call, "the summed dim of operand and weight");
    requireSame(y[3], weight[transposed ? 2 : 1], call, "columns of result and weight");
}

} // namespace

Timing executeGates(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& logits = *call.operands[0];
    const Sharded* bias = call.operands.size() > 1 ? call.operands[1] : nullptr;
    const std::int64_t experts = result.shape().back();
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        for (std::size_t d = 0; d < 3; ++d)
            requireSame(logits.box(device)[d], result.box(device)[d], call, "operand and result");
        if (result.elements(device) == 0)
            continue;
        requireWhole(logits.box(device)[2], experts, call, "the experts that are chosen from");
        if (bias != nullptr)
            requireWhole(bias->box(device)[0], experts, call, "the bias of the choice");
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 8;
    return context.planning() ? Timing {} : runBody(context, result, gateWork(call, result));
}

Timing executeDispatch(Context& context, const OpCall& call, Sharded& result) { return spreadToExperts(context, call, result); }

Timing executeCombine(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& y = *call.operands[0];
    const Sharded& gates = *call.operands[1];
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        const Box& box = y.box(device);
        if (result.elements(device) == 0)
            continue;
        requireSameTokens(result.box(device), box, call);
        requireSameTokens(gates.box(device), box, call);
        requireSame(result.box(device)[2], box[3], call, "columns of operand and result");
        requireSame(gates.box(device)[2], box[0], call, "experts of gates and operand");
    }
    context.work.touched += static_cast<double>(y.totalElements()) + static_cast<double>(result.totalElements());
    return context.planning() ? Timing {} : runBody(context, result, routeWork(call, result));
}

Timing executeExpertBias(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& x = *call.operands[0];
    const Sharded& bias = *call.operands[1];
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        const Box& box = result.box(device);
        if (result.elements(device) == 0)
            continue;
        for (std::size_t d = 0; d < 4; ++d)
            requireSame(x.box(device)[d], box[d], call, "operand and result");
        requireSame(bias.box(device)[0], box[0], call, "experts of bias and result");
        requireSame(bias.box(device)[1], box[3], call, "columns of bias and result");
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 2;
    return context.planning() ? Timing {} : runBody(context, result, expertBiasWork(call, result));
}

Timing executeExpertLinear(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& x = *call.operands[0];
    const Sharded& weight = *call.operands[1];
    const bool transposed = call.kind == OpKind::ExpertLinearT;
    std::int64_t widest = 0; // k, and columns made up at once
    std::int64_t most = 0;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        checkExpertLinear(call, result, device, transposed);
        widest = std::max(widest, x.box(device)[3].size());
        most = std::max(most, result.box(device)[3].size());
    }
    const std::int64_t columns =
        std::clamp<std::int64_t>(kChunkFloats / std::max<std::int64_t>(1, widest), 16, std::max<std::int64_t>(16, most));
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        const auto k = static_cast<double>(x.box(device)[3].size());
        context.work.flops += 2.0 * static_cast<double>(result.elements(device)) * k; // at most: rows without data are skipped
        if (!weight.allocated() && result.elements(device) > 0)
            context.work.generated += static_cast<double>(weight.elements(device));
    }
    const std::int64_t made = weight.allocated() ? 0 : columns * widest;
    const std::int64_t scratchFloats = made + kRowsAtOnce * (widest + columns);
    const Block scratch = context.scratch(scratchFloats);
    if (context.planning())
        return {};
    std::vector<ExpertTask> tasks;
    for (const ExpertTask& expert : expertTasks(result))
        for (std::int64_t first = 0; first < expert.last; first += columns)
            tasks.push_back({ expert.device, expert.expert, first, std::min(expert.last, first + columns) });
    return runExperts(context, result, tasks, [&](const ExpertTask& task, int worker) {
        const Box& box = result.box(task.device);
        Box part = weight.box(task.device);
        float* own = scratch.floats() + worker * Context::scratchStride(scratchFloats);
        Product product {
            transposed, tokensOf(box), x.box(task.device)[3].size(), task.last - task.first, nullptr, 0, box[3].size()
        };
        const std::int64_t perExpert = part[1].size() * part[2].size();
        double spent = 0;
        if (weight.allocated()) {
            product.weightStride = part[2].size();
            product.weight =
                weight.data(task.device) + task.expert * perExpert + task.first * (transposed ? 1 : product.weightStride);
        } else {
            const double start = coreSeconds();
            const std::size_t cut = transposed ? 2 : 1;
            part[0] = { part[0].lo + task.expert, part[0].lo + task.expert + 1 };
            part[cut] = { part[cut].lo + task.first, part[cut].lo + task.last };
            fillBox(*weight.source, weight.shape(), part, own);
            spent = coreSeconds() - start;
            product.weight = own;
            product.weightStride = part[2].size();
        }
        multiplyRows(context, product, x.data(task.device) + task.expert * product.rows * product.k, own + made,
                     result.data(task.device) + task.expert * product.rows * product.stride + task.first);
        return spent;
    });
}

} // namespace shardboard::engine
