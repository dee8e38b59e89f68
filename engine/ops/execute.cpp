// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/execute.h"

#include "engine/devices/executor.h"
#include "engine/machine/failure.h"
#include "engine/ops/bodywork.h"
#include "engine/ops/opbody.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

std::string text(const Range& range) { return "[" + std::to_string(range.lo) + ", " + std::to_string(range.hi) + ")"; }

void checkBroadcast(const OpCall& call, const Sharded& a, const Sharded& b, std::int64_t device)
{
    const std::size_t skip = a.shape().size() - b.shape().size();
    for (std::size_t d = 0; d < b.shape().size(); ++d)
        if (b.shape()[d] != 1 || a.shape()[d + skip] == 1)
            requireSame(a.box(device)[d + skip], b.box(device)[d], call, "the operands' shards");
        else if (a.elements(device) > 0)
            requireWhole(b.box(device)[d], 1, call, "a dim of one element, which is broadcast,");
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
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        requireSameBox(a.box(device), result.box(device), call, "operand and result");
        for (std::size_t i = 1; i < call.operands.size(); ++i)
            checkBroadcast(call, a, *call.operands[i], device);
    }
    context.work.touched += static_cast<double>(result.totalElements()) * touchedBy(call.kind);
    return context.planning() ? Timing {} : runBody(context, result, elementwiseWork(call, result));
}

Timing executeNorm(Context& context, const OpCall& call, Sharded& result)
{
    const std::int64_t n = result.shape().back();
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        requireSameBox(call.operands[0]->box(device), result.box(device), call, "operand and result");
        for (std::size_t i = 0; i < call.operands.size() && result.elements(device) > 0; ++i)
            requireWhole(call.operands[i]->box(device).back(), n, call, i == 0 ? "the normalised dim" : "the norm's weight");
    }
    context.work.touched += static_cast<double>(result.totalElements()) * (call.kind == OpKind::RmsNorm ? 3 : 4);
    return context.planning() ? Timing {} : runBody(context, result, normWork(call, result));
}

Timing executeNormGradient(Context& context, const OpCall& call, Sharded& result)
{
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        requireSameBox(call.operands[0]->box(device), result.box(device), call, "gradient and result");
        requireSameBox(call.operands[1]->box(device), result.box(device), call, "operand and result");
        if (result.elements(device) > 0) {
            requireWhole(result.box(device).back(), result.shape().back(), call, "the normalised dim");
            if (call.operands.size() > 2)
                requireWhole(call.operands[2]->box(device).back(), result.shape().back(), call, "the norm's weight");
        }
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 5;
    return context.planning() ? Timing {} : runBody(context, result, normGradientWork(call, result));
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
    return context.planning() ? Timing {} : runBody(context, result, elementwiseWork(call, result));
}

Timing executeGroups(Context& context, const OpCall& call, Sharded& result)
{
    const bool split = call.kind == OpKind::SplitGroups;
    const Sharded& grouped = split ? *call.operands[0] : result;
    const Sharded& separate = split ? result : *call.operands[0];
    const std::int64_t heads = separate.shape()[2] / grouped.shape()[2];
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        if (result.elements(device) == 0)
            continue;
        const Box& of = grouped.box(device);
        const Box& to = separate.box(device);
        requireSame(of[0], to[0], call, "sequences");
        requireSame(of[1], to[1], call, "tokens");
        requireSame({ of[2].lo * heads, of[2].hi * heads }, to[2], call, "groups and their heads");
        requireWhole(of[3], grouped.shape()[3], call, "a group");
        requireWhole(to[3], separate.shape()[3], call, "a head");
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 2;
    return context.planning() ? Timing {} : runBody(context, result, elementwiseWork(call, result));
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
    Timing timing = runBody(context, result, elementwiseWork(call, result));
    timing.seconds.assign(timing.seconds.size(), 0.0); // it only names a value; the copy is the engine's own way
    return timing;
}

Timing executeOp(Context& context, const OpCall& call, Sharded& result) { return context.executor.op(context, call, result); }

} // namespace shardboard::engine
