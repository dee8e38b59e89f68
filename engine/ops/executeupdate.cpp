// SPDX-License-Identifier: Apache-2.0
// The optimizer's step on the part of a weight that a device has.
#include "engine/ops/execute.h"

#include <algorithm>
#include <cstring>

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
    const Block scratch = context.scratch(3 * largest);
    if (context.planning())
        return {};
    return runTimed(context, result.mesh(), devices, [&](std::size_t index, int worker) {
        const Piece& piece = pieces[index];
        const std::int64_t count = volumeOf(piece.box);
        const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
        float* w = scratch.floats() + worker * Context::scratchStride(3 * largest);
        const double start = coreSeconds();
        if (!weight.allocated())
            fillBox(*weight.source, weight.shape(), piece.box, w);
        const double spent = coreSeconds() - start;
        if (weight.allocated())
            std::memcpy(w, weight.data(piece.device) + piece.offset, bytes);
        std::memset(w + largest, 0, 2 * static_cast<std::size_t>(largest) * sizeof(float));
        adamStep(kAdam, 1, 1.0f, gradient.data(piece.device) + piece.offset, count, w + largest, w + 2 * largest, w);
        std::memcpy(result.data(piece.device) + piece.offset, w, bytes); // last: the result may lie where the gradient is
        return spent;
    });
}

} // namespace shardboard::engine
