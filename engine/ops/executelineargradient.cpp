// SPDX-License-Identifier: Apache-2.0
// The gradients of Linear and Embedding. Their weights are as large as those of the forward pass and are made up in pieces
// just so.
#include "engine/machine/gemm.h"
#include "engine/machine/index.h"
#include "engine/ops/bodywork.h"
#include "engine/ops/kernels/lineargradient.h"

#include <algorithm>
#include <cstring>

namespace shardboard::engine {

namespace {

constexpr std::int64_t kGradientFloats = kChunkFloats / 2;
constexpr std::int64_t kColumns = 512; ///< of a weight that are worked on at once
constexpr double kGradientFlops = 2e9; ///< a cancelled run stops within one such product

/// How many of something that takes so many floating point operations are done in one product.
std::int64_t atOnce(double flops)
{
    return std::max<std::int64_t>(16, static_cast<std::int64_t>(kGradientFlops / std::max(1.0, flops)));
}

/// A part of the result of one device, for one task.
struct Part {
    std::int64_t device = 0;
    std::int64_t first = 0;
    std::int64_t last = 0;
};

/// Cuts dim `dim` of all shards of the result into parts.
struct Parts {
    std::vector<Part> parts;
    std::vector<std::int64_t> devices;

    Parts(const Sharded& result, std::size_t dim, std::int64_t step)
    {
        for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
            if (result.elements(device) == 0)
                continue;
            const std::int64_t size = result.box(device)[dim].size();
            for (std::int64_t first = 0; first < size; first += step) {
                parts.push_back({ device, first, std::min(size, first + step) });
                devices.push_back(device);
            }
        }
    }
};

} // namespace

Timing executeLinearGradX(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    const Sharded& weight = *call.operands[1];
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        requireSameRows(dy.box(device), result.box(device), call, "rows of operand and result");
        requireSame(dy.box(device).back(), weight.box(device)[0], call, "the summed dim of operand and weight");
        requireSame(result.box(device).back(), weight.box(device)[1], call, "columns of result and weight");
        context.work.flops +=
            2.0 * static_cast<double>(result.elements(device)) * static_cast<double>(dy.box(device).back().size());
        if (!weight.allocated())
            context.work.generated += static_cast<double>(weight.elements(device));
    }
    const std::int64_t scratchFloats = weight.allocated() ? 0 : kGradientFloats;
    const Block scratch = context.scratch(scratchFloats);
    if (context.planning())
        return {};
    // Every task has some columns of the result to itself and goes through all rows of the weight, in chunks.
    const Parts tasks(result, result.shape().size() - 1, kColumns);
    return runTimed(context, result.mesh(), tasks.devices, [&](std::size_t index, int worker) {
        const Part& part = tasks.parts[index];
        const Box& box = weight.box(part.device);
        const std::int64_t rows = rowsOf(result.box(part.device));
        const std::int64_t out = box[0].size();
        const std::int64_t in = box[1].size();
        const std::int64_t width = part.last - part.first;
        float* dx = result.data(part.device) + part.first;
        if (out == 0)
            for (std::int64_t row = 0; row < rows; ++row)
                std::memset(dx + row * in, 0, at(width) * sizeof(float));
        double spent = 0;
        const std::int64_t step =
            std::min(kGradientFloats / kColumns, atOnce(2.0 * static_cast<double>(rows) * static_cast<double>(width)));
        for (std::int64_t first = 0; first < out; first += step) {
            context.pool->checkCancelled();
            const std::int64_t count = std::min(step, out - first);
            const float* w = nullptr;
            std::int64_t stride = in;
            if (weight.allocated()) {
                w = weight.data(part.device) + first * in + part.first;
            } else {
                const double start = coreSeconds();
                float* made = scratch.floats() + worker * Context::scratchStride(scratchFloats);
                fillBox(*weight.source, weight.shape(),
                        { { box[0].lo + first, box[0].lo + first + count }, { box[1].lo + part.first, box[1].lo + part.last } },
                        made);
                w = made;
                stride = width;
                spent += coreSeconds() - start;
            }
            const float* left = dy.data(part.device) + first;
            const float beta = first > 0 ? 1.0f : 0.0f;
            if (call.bf16 && rows * count <= kGradientFloats)
                bf16gemm(false, false, rows, width, count, left, out, w, stride, beta, dx, in);
            else
                sgemm(false, false, rows, width, count, 1, left, out, w, stride, beta, dx, in);
        }
        return spent;
    });
}

Timing executeLinearGradW(Context& context, const OpCall& call, Sharded& result)
{
    constexpr std::int64_t kRows = 256; // of the result for each task
    const Sharded& dy = *call.operands[0];
    const Sharded& x = *call.operands[1];
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        requireSameRows(dy.box(device), x.box(device), call, "rows of the operands");
        requireSame(dy.box(device).back(), result.box(device)[0], call, "columns of the gradient and rows of the result");
        requireSame(x.box(device).back(), result.box(device)[1], call, "columns of operand and result");
        context.work.flops += 2.0 * static_cast<double>(result.elements(device)) * static_cast<double>(rowsOf(x.box(device)));
    }
    context.work.touched += static_cast<double>(result.totalElements());
    if (context.planning())
        return {};
    const Parts tasks(result, 0, kRows);
    return runTimed(context, result.mesh(), tasks.devices, [&](std::size_t index, int) {
        const Part& part = tasks.parts[index];
        const std::int64_t rows = rowsOf(x.box(part.device));
        const std::int64_t in = result.box(part.device)[1].size();
        const std::int64_t out = result.box(part.device)[0].size();
        const std::int64_t count = part.last - part.first;
        float* dw = result.data(part.device) + part.first * in;
        if (rows == 0)
            std::memset(dw, 0, at(count * in) * sizeof(float));
        const std::int64_t step = atOnce(2.0 * static_cast<double>(count) * static_cast<double>(in));
        for (std::int64_t row = 0; row < rows; row += step) {
            context.pool->checkCancelled();
            linearWeightGradient({ std::min(step, rows - row), in, count }, dy.data(part.device) + row * out + part.first, out,
                                 x.data(part.device) + row * in, row > 0, dw);
        }
        return 0.0;
    });
}

Timing executeEmbeddingGrad(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    const Sharded& tokens = *call.operands[1];
    std::int64_t widest = 1;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        for (std::size_t d = 0; d < tokens.shape().size(); ++d)
            requireSame(dy.box(device)[d], tokens.box(device)[d], call, "rows of gradient and tokens");
        requireSame(dy.box(device).back(), result.box(device)[1], call, "columns of gradient and result");
        widest = std::max(widest, result.box(device)[1].size());
    }
    context.work.touched += static_cast<double>(result.totalElements()) + static_cast<double>(dy.totalElements()) * 2;
    if (context.planning())
        return {};
    auto work = embeddingGradientWork(call, result, std::max<std::int64_t>(1, kPieceElements / widest), widest);
    work.body.zeroFirst = 1;
    return runBody(context, result, std::move(work));
}

} // namespace shardboard::engine
