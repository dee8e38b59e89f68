// SPDX-License-Identifier: Apache-2.0
// Short causal convolutions, factors of heads, and learned positions: plain loops, a task for each device.
#include "engine/machine/failure.h"
#include "engine/machine/index.h"
#include "engine/ops/execute.h"

#include <algorithm>
#include <vector>

namespace shardboard::engine {

namespace {

std::vector<std::int64_t> devicesOf(const Sharded& result)
{
    std::vector<std::int64_t> out;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device)
        if (result.elements(device) > 0)
            out.push_back(device);
    return out;
}

/// A task that writes all of a device's part of the result.
Timing onDevices(Context& context, Sharded& result, const std::function<void(std::int64_t device)>& task)
{
    const std::vector<std::int64_t> devices = devicesOf(result);
    context.work.touched += static_cast<double>(result.totalElements()) * 3;
    if (context.planning())
        return {};
    return runTimed(context, result.mesh(), devices, [&](std::size_t index, int) {
        context.pool->checkCancelled();
        task(devices[index]);
        return 0.0;
    });
}

/// The channels of a device, as rows of the whole weight.
void requireConvolution(const OpCall& call, const Box& a, const Box& b)
{
    requireSame(a[0], b[0], call, "sequences");
    requireSame(a[2], b[2], call, "channels");
}

} // namespace

/// Both ways: result s of s' new and t tokens takes token t - s' + s and those before; its gradient goes to them.
Timing executeCausalConv(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& x = *call.operands[0];
    const Sharded& weight = *call.operands[1];
    const bool backward = call.kind == OpKind::CausalConvGradX;
    const std::int64_t taps = weight.shape()[2];
    for (const std::int64_t device : devicesOf(result)) {
        requireConvolution(call, x.box(device), result.box(device));
        requireWhole(x.box(device)[1], x.shape()[1], call, "a sequence");
        requireWhole(result.box(device)[1], result.shape()[1], call, "a sequence");
        requireWhole(weight.box(device)[0], weight.shape()[0], call, "the taps");
    }
    const std::int64_t ahead = backward ? x.shape()[1] - result.shape()[1] : result.shape()[1] - x.shape()[1];
    context.work.flops += 2.0 * static_cast<double>(result.totalElements()) * static_cast<double>(taps);
    return onDevices(context, result, [&, ahead](std::int64_t device) {
        const Box& box = result.box(device);
        const std::int64_t from = x.shape()[1], to = box[1].size(), channels = box[2].size();
        const float* const w = weight.data(device) + (call.attributes.first + box[2].lo) * taps;
        for (std::int64_t batch = 0; batch < box[0].size(); ++batch) {
            const float* const in = x.data(device) + batch * from * channels;
            float* const out = result.data(device) + batch * to * channels;
            for (std::int64_t s = 0; s < to; ++s)
                for (std::int64_t c = 0; c < channels; ++c) {
                    float sum = 0;
                    for (std::int64_t tap = 0; tap < taps; ++tap) {
                        const std::int64_t other = backward ? s + ahead + (taps - 1 - tap) : s - ahead - (taps - 1 - tap);
                        if (other >= 0 && other < from)
                            sum += w[c * taps + tap] * in[other * channels + c];
                    }
                    out[s * channels + c] = sum;
                }
        }
    });
}

Timing executeCausalConvGradW(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    const Sharded& x = *call.operands[1];
    for (const std::int64_t device : devicesOf(result)) {
        requireConvolution(call, dy.box(device), x.box(device));
        requireWhole(x.box(device)[1], x.shape()[1], call, "a sequence");
        requireWhole(dy.box(device)[1], dy.shape()[1], call, "a sequence");
        requireWhole(result.box(device)[0], result.shape()[0], call, "the taps");
    }
    const std::int64_t taps = result.shape()[2];
    const std::int64_t ahead = x.shape()[1] - dy.shape()[1];
    context.work.flops += 2.0 * static_cast<double>(dy.totalElements()) * static_cast<double>(taps);
    return onDevices(context, result, [&, ahead, taps](std::int64_t device) {
        const Box& box = dy.box(device);
        const std::int64_t to = box[1].size(), from = x.shape()[1], channels = box[2].size();
        float* const out = result.data(device);
        std::fill(out, out + result.elements(device), 0.0f);
        float* const own = out + (call.attributes.first + box[2].lo) * taps;
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t tap = 0; tap < taps; ++tap) {
                double sum = 0;
                for (std::int64_t batch = 0; batch < box[0].size(); ++batch)
                    for (std::int64_t s = 0; s < to; ++s)
                        if (const std::int64_t other = s + ahead - (taps - 1 - tap); other >= 0)
                            sum += double { dy.data(device)[(batch * to + s) * channels + c] }
                                * double { x.data(device)[(batch * from + other) * channels + c] };
                own[c * taps + tap] = static_cast<float>(sum);
            }
    });
}

Timing executeHeadScale(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& x = *call.operands[0];
    const Sharded& weight = *call.operands[1];
    for (const std::int64_t device : devicesOf(result)) {
        requireSameBox(x.box(device), result.box(device), call, "operand and result");
        requireSame(weight.box(device)[0], result.box(device)[2], call, "factors and heads");
    }
    return onDevices(context, result, [&](std::int64_t device) {
        const Box& box = result.box(device);
        const std::int64_t heads = box[2].size(), d = box[3].size();
        for (std::int64_t row = 0; row < volumeOf(box) / d; ++row)
            for (std::int64_t i = 0; i < d; ++i)
                result.data(device)[row * d + i] = x.data(device)[row * d + i] * weight.data(device)[row % heads];
    });
}

/// Of tensors [batch, sequence, heads, n] the rows, of those without the last dim their elements: HeadGate multiplies a row by its
/// element, HeadOuter makes a row of an element and the head's row of the weight, and gradients are the sums of products.
Timing executeHeadRows(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& a = *call.operands[0];
    const Sharded& b = *call.operands[1];
    const bool ofHeads = call.kind == OpKind::HeadOuter || call.kind == OpKind::HeadOuterGradX; // b is [heads, n]
    const bool addsRows = call.kind == OpKind::HeadOuterGradW; // the result is [heads, n]
    for (const std::int64_t device : devicesOf(result)) {
        for (std::size_t dim = 0; dim < 3; ++dim) {
            if (dim == 2 || !ofHeads)
                requireSame(a.box(device)[dim], b.box(device)[ofHeads ? 0 : dim], call, "heads or tokens of the operands");
            if (!addsRows)
                requireSame(a.box(device)[dim], result.box(device)[dim], call, "heads or tokens of operand and result");
        }
        if (addsRows)
            requireSame(a.box(device)[2], result.box(device)[0], call, "heads of operand and result");
        const Box& rows = call.kind == OpKind::HeadOuter ? result.box(device) : a.box(device);
        const bool ofResult = call.kind == OpKind::HeadGate || addsRows; // which other tensor has rows of n
        requireSame(rows.back(), (ofResult ? result : b).box(device).back(), call, "elements in the row of a head");
    }
    return onDevices(context, result, [&](std::int64_t device) {
        const float* const x = a.data(device);
        const float* const y = b.data(device);
        float* const out = result.data(device);
        const Box& box = call.kind == OpKind::HeadOuter ? result.box(device) : a.box(device);
        const std::int64_t heads = box[2].size(), n = box[3].size(), rows = box[0].size() * box[1].size() * heads;
        std::vector<double> sums(call.kind == OpKind::HeadOuterGradW ? at(heads * n) : 0);
        for (std::int64_t row = 0; row < rows; ++row) {
            double sum = 0;
            for (std::int64_t i = 0; i < n; ++i)
                switch (call.kind) {
                case OpKind::HeadGate:
                    out[row * n + i] = x[row * n + i] * y[row];
                    break;
                case OpKind::HeadOuter:
                    out[row * n + i] = x[row] * y[row % heads * n + i];
                    break;
                case OpKind::HeadOuterGradW:
                    sums[at(row % heads * n + i)] += double { x[row * n + i] } * double { y[row] };
                    break;
                default:
                    sum += double { x[row * n + i] } * double { y[(ofHeads ? row % heads : row) * n + i] };
                }
            if (call.kind == OpKind::HeadGateGrad || call.kind == OpKind::HeadOuterGradX)
                out[row] = static_cast<float>(sum);
        }
        for (std::size_t i = 0; i < sums.size(); ++i)
            out[i] = static_cast<float>(sums[i]);
    });
}

Timing executeHeadScaleGradW(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    const Sharded& x = *call.operands[1];
    for (const std::int64_t device : devicesOf(result)) {
        requireSameBox(dy.box(device), x.box(device), call, "gradient and operand");
        requireSame(result.box(device)[0], x.box(device)[2], call, "factors and heads");
    }
    return onDevices(context, result, [&](std::int64_t device) {
        const Box& box = x.box(device);
        const std::int64_t heads = box[2].size(), d = std::max<std::int64_t>(1, box[3].size());
        std::vector<double> sums(at(heads));
        for (std::int64_t row = 0; row < volumeOf(box) / d; ++row)
            for (std::int64_t i = 0; i < d; ++i)
                sums[at(row % heads)] += double { dy.data(device)[row * d + i] } * double { x.data(device)[row * d + i] };
        for (std::int64_t head = 0; head < heads; ++head)
            result.data(device)[head] = static_cast<float>(sums[at(head)]);
    });
}

Timing executeAddPositions(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& x = *call.operands[0];
    const Sharded& table = *call.operands[1];
    for (const std::int64_t device : devicesOf(result)) {
        requireSameBox(x.box(device), result.box(device), call, "operand and result");
        requireSame(table.box(device)[1], result.box(device)[2], call, "columns of table and result");
        requireWhole(table.box(device)[0], table.shape()[0], call, "the positions");
    }
    return onDevices(context, result, [&](std::int64_t device) {
        const Box& box = result.box(device);
        const std::int64_t width = box[2].size(), tokens = box[1].size();
        for (std::int64_t row = 0; row < box[0].size() * tokens; ++row) {
            const float* const own = table.data(device) + (call.attributes.first + box[1].lo + row % tokens) * width;
            for (std::int64_t i = 0; i < width; ++i)
                result.data(device)[row * width + i] = x.data(device)[row * width + i] + own[i];
        }
    });
}

Timing executeAddPositionsGrad(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& dy = *call.operands[0];
    for (const std::int64_t device : devicesOf(result)) {
        requireSame(dy.box(device)[2], result.box(device)[1], call, "columns of gradient and result");
        requireWhole(result.box(device)[0], result.shape()[0], call, "the positions");
    }
    return onDevices(context, result, [&](std::int64_t device) {
        const Box& box = dy.box(device);
        const std::int64_t width = box[2].size(), tokens = box[1].size();
        float* const out = result.data(device);
        std::fill(out, out + result.elements(device), 0.0f);
        for (std::int64_t row = 0; row < box[0].size() * tokens; ++row)
            for (std::int64_t i = 0; i < width; ++i)
                out[(call.attributes.first + box[1].lo + row % tokens) * width + i] += dy.data(device)[row * width + i];
    });
}

} // namespace shardboard::engine
