// SPDX-License-Identifier: Apache-2.0
// The optimizer's step on the part of a weight that a device has.
#include "engine/ops/bodywork.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

constexpr std::int64_t kUpdateElements = 1 << 16;

struct Piece {
    std::int64_t device = 0;
    std::int64_t offset = 0; ///< in the device's shard
    Box box;
};

} // namespace

Timing executeAdamStep(Context& context, const OpCall& call, Sharded& result)
{
    const Sharded& weight = *call.operands[0];
    const Sharded& gradient = *call.operands[1];
    std::vector<Piece> pieces;
    std::vector<std::int64_t> devices;
    std::int64_t largest = 0;
    for (std::int64_t device = 0; device < result.deviceCount(); ++device) {
        requireSameBox(weight.box(device), result.box(device), call, "weight and result");
        requireSameBox(gradient.box(device), result.box(device), call, "gradient and result");
        if (result.elements(device) == 0)
            continue;
        largest = std::max(largest, countPieces(result.box(device), kUpdateElements).largest);
        if (context.planning())
            continue;
        std::int64_t offset = 0;
        for (Box& box : piecesOf(result.box(device), kUpdateElements)) {
            const std::int64_t volume = volumeOf(box);
            pieces.push_back({ device, offset, std::move(box) });
            devices.push_back(device);
            offset += volume;
        }
    }
    context.work.touched += static_cast<double>(result.totalElements()) * 4;
    if (!weight.allocated())
        context.work.generated += static_cast<double>(result.totalElements());
    const std::int64_t scratchFloats = weight.allocated() ? 0 : largest;
    const Block scratch = context.scratch(scratchFloats);
    if (context.planning())
        return {};
    return runTimed(context, result.mesh(), devices, [&](std::size_t index, int worker) {
        const Piece& piece = pieces[index];
        float* made = scratch.floats() + worker * Context::scratchStride(scratchFloats);
        const double start = coreSeconds();
        if (!weight.allocated())
            fillBox(*weight.source, weight.shape(), piece.box, made);
        const double spent = coreSeconds() - start;
        bodies::AdamBody body = adamBody(call.kind);
        bodies::AdamBody::Entry entry;
        entry.count = volumeOf(piece.box);
        entry.weight.data = made;
        if (weight.allocated())
            entry.weight = elementsOf(weight, piece.device).from(piece.offset);
        entry.gradient = elementsOf(gradient, piece.device).from(piece.offset);
        entry.out = elementsOf(result, piece.device).from(piece.offset);
        body.entries = &entry;
        runItems(body, 0, 0, tilesOf(entry.count));
        return spent;
    });
}

} // namespace shardboard::engine
