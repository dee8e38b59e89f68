// SPDX-License-Identifier: Apache-2.0
// Values shard by shard: made up, changed, copied, and sent to another stage.
#include "engine/cpu/cpuexecutor.h"
#include "engine/devices/team.h"
#include "engine/simd/fusedrun.h"
#include "engine/simd/vectors.h"

#include <algorithm>
#include <cstring>

namespace shardboard::engine {

namespace {

struct Slice {
    std::int64_t device = 0;
    std::int64_t offset = 0;
    Box box;
};

/// Consecutive contiguous parts of all shards.
std::vector<Slice> slicesOf(const Sharded& tensor)
{
    std::vector<Slice> slices;
    for (std::int64_t device = 0; device < tensor.deviceCount(); ++device) {
        std::int64_t offset = 0;
        if (tensor.elements(device) == 0)
            continue;
        for (Box& box : piecesOf(tensor.box(device), kPieceElements)) {
            const std::int64_t volume = volumeOf(box);
            slices.push_back({ device, offset, std::move(box) });
            offset += volume;
        }
    }
    return slices;
}

template <class Change>
void forEachSlice(Context& context, Sharded& tensor, Change change)
{
    const auto slices = slicesOf(tensor);
    std::vector<std::int64_t> devices;
    for (const Slice& slice : slices)
        devices.push_back(slice.device);
    runTasks(context, tensor.mesh(), devices, [&](std::size_t index, int) {
        const Slice& slice = slices[index];
        change(slice, tensor.data(slice.device) + slice.offset);
    });
}

struct SentPiece {
    std::int64_t device = 0;
    std::int64_t offset = 0;
    std::int64_t count = 0;
};

} // namespace

void CpuExecutor::fill(Context& context, const Source& source, Sharded& tensor)
{
    if (context.planning())
        return;
    forEachSlice(context, tensor, [&](const Slice& slice, float* values) { fillBox(source, tensor.shape(), slice.box, values); });
}

void CpuExecutor::round(Context& context, Rounding rounding, Sharded& tensor)
{
    if (context.planning())
        return;
    forEachSlice(context, tensor, [&](const Slice& slice, float* values) { roundValues(rounding, volumeOf(slice.box), values); });
}

void CpuExecutor::add(Context& context, const Sharded& value, Sharded& sum)
{
    if (context.planning())
        return;
    forEachSlice(context, sum, [&](const Slice& slice, float* values) {
        addInto(value.data(slice.device) + slice.offset, volumeOf(slice.box), values);
    });
}

void CpuExecutor::copy(Context& context, const Sharded& value, Sharded& copy)
{
    if (context.planning())
        return;
    forEachSlice(context, copy, [&](const Slice& slice, float* values) {
        std::memcpy(values, value.data(slice.device) + slice.offset, static_cast<std::size_t>(volumeOf(slice.box)) * sizeof(float));
    });
}

void CpuExecutor::scale(Context& context, float factor, Sharded& tensor)
{
    if (context.planning())
        return;
    forEachSlice(context, tensor,
                 [&](const Slice& slice, float* values) { scaleRow(values, factor, volumeOf(slice.box), values); });
}

Timing CpuExecutor::send(Context& context, const Sharded& value, bool broken, Sharded& there)
{
    std::vector<Delivery> deliveries;
    for (std::int64_t device = 0; device < value.deviceCount(); ++device)
        need(deliveries, context, value, device, value.box(device), context.arena.deviceRanks().of(there.mesh(), device));
    const Timing::Span brought = beginReading(context, deliveries);
    if (context.planning())
        return {};
    std::vector<SentPiece> pieces;
    std::vector<std::int64_t> devices;
    for (std::int64_t device = 0; device < value.deviceCount(); ++device)
        for (std::int64_t offset = 0; offset < value.elements(device); offset += kPieceElements) {
            pieces.push_back({ device, offset, std::min(kPieceElements, value.elements(device) - offset) });
            devices.push_back(device);
        }
    const bool past = context.goesPastCaches(2 * value.bytes());
    Timing timing = runTimed(context, there.mesh(), devices, [&](std::size_t index, int) {
        const SentPiece& piece = pieces[index];
        float* to = there.data(piece.device) + piece.offset;
        const std::size_t bytes = static_cast<std::size_t>(piece.count) * sizeof(float);
        if (broken)
            std::memset(to, 0, bytes);
        else
            copyRun(value.data(piece.device) + piece.offset, piece.count, to, past);
        if (past)
            finishRuns();
        return 0.0;
    });
    if (context.team != nullptr && context.team->spansHosts())
        timing.brought.push_back({ brought });
    endReading(context);
    return timing;
}

} // namespace shardboard::engine
