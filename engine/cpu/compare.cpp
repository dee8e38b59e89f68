// SPDX-License-Identifier: Apache-2.0
// What the devices hold beside the unsharded reference, and for those who want to see it.
#include "engine/devices/compare.h"

#include "engine/cpu/cpuexecutor.h"
#include "engine/devices/team.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

constexpr std::int64_t kComparedElements = 1 << 16;

struct ComparedPiece {
    std::int64_t device = 0; ///< the first of the devices whose addends make the value
    Box box;
};

SquareSums comparePiece(const Sharded& y, const Sharded& reference, const ComparedPiece& piece, float* made)
{
    SquareSums sums;
    const auto members = addendsOf(y, piece.device);
    Box whole(y.shape().size());
    for (std::size_t d = 0; d < whole.size(); ++d)
        whole[d] = { 0, y.shape()[d] };
    const Box& held = y.box(piece.device);
    const bool highest = y.layout().op == ReduceOp::Max;
    const auto compareRun = [&](std::int64_t offset, std::int64_t run, const float* expected) {
        for (std::int64_t i = 0; i < run; ++i) {
            double value = double { y.data(members.front())[offset + i] };
            for (std::size_t m = 1; m < members.size(); ++m) {
                const double other = double { y.data(members[m])[offset + i] };
                value = highest ? std::max(value, other) : value + other;
            }
            const double r = double { expected[i] };
            sums.difference += (value - r) * (value - r);
            sums.reference += r * r;
        }
        sums.count += run;
    };
    if (!reference.allocated())
        fillBox(*reference.source, reference.shape(), piece.box, made);
    const Box& wanted = reference.allocated() ? whole : piece.box;
    const float* values = reference.allocated() ? reference.data(0) : made;
    // Row by row of the last dim: both sides are contiguous there.
    const std::int64_t width = piece.box.back().size();
    std::vector<std::int64_t> offsets;
    forEachRun(held, piece.box, [&](std::int64_t offset, std::int64_t run) {
        for (std::int64_t i = 0; i < run; i += width)
            offsets.push_back(offset + i);
    });
    std::size_t next = 0;
    forEachRun(wanted, piece.box, [&](std::int64_t offset, std::int64_t run) {
        for (std::int64_t i = 0; i < run; i += width)
            compareRun(offsets[next++], width, values + offset + i);
    });
    return sums;
}

bool isCompared(const Sharded& y, std::int64_t device) { return y.elements(device) > 0 && !addendsOf(y, device).empty(); }

std::vector<ComparedPiece> piecesToCompare(const Sharded& y)
{
    std::vector<ComparedPiece> pieces;
    for (std::int64_t device = 0; device < y.deviceCount(); ++device)
        if (isCompared(y, device))
            for (Box& box : piecesOf(y.box(device), kComparedElements))
                pieces.push_back({ device, std::move(box) });
    return pieces;
}

std::int64_t countToCompare(const Sharded& y)
{
    std::int64_t count = 0;
    for (std::int64_t device = 0; device < y.deviceCount(); ++device)
        if (isCompared(y, device))
            count += countPieces(y.box(device), kComparedElements).pieces;
    return count;
}

/// What the processes that compare need, each for the pieces that it does.
std::vector<Delivery> neededOf(const Context& context, const Sharded& y, const std::vector<ComparedPiece>& pieces)
{
    std::vector<Delivery> deliveries;
    for (std::size_t i = 0; context.team != nullptr && i < pieces.size(); ++i)
        for (const std::int64_t member : addendsOf(y, pieces[i].device))
            need(deliveries, context, y, member, pieces[i].box,
                 context.team->referenceRanks()[i % context.team->referenceRanks().size()]);
    return deliveries;
}

} // namespace

double CpuExecutor::relativeError(Context& context, const Sharded& y, const Sharded& reference, double among)
{
    const std::int64_t scratchFloats = reference.allocated() ? 0 : 4 * kComparedElements + y.shape().back();
    if (!reference.allocated())
        context.work.generated += static_cast<double>(y.totalElements());
    const Block scratch = context.scratch(scratchFloats);
    // Several processes share the work, and the first one sums up.
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(context.arena.deviceRanks().rankCount()), 0);
    bytes.front() = countToCompare(y) * static_cast<std::int64_t>(sizeof(SquareSums));
    const Block room = context.arena.allocateAt(bytes);
    if (context.planning() && context.team == nullptr)
        return 0; // a plan need not fit into the memory that is there, and its pieces need not either
    const auto pieces = piecesToCompare(y);
    beginReading(context, neededOf(context, y, pieces));
    if (context.planning())
        return 0;
    const SharedReference shared(context);
    auto* sums = reinterpret_cast<SquareSums*>(room.memory(0));
    runTasks(context, reference.mesh(), std::vector<std::int64_t>(pieces.size(), 0), [&](std::size_t i, int worker) {
        sums[i] = comparePiece(y, reference, pieces[i], scratch.floats() + worker * Context::scratchStride(scratchFloats));
    });
    endReading(context);
    if (context.team != nullptr && context.team->referenceRank() != 0)
        return 0;

    std::vector<SquareSums> devices(static_cast<std::size_t>(y.deviceCount()));
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        SquareSums& device = devices[static_cast<std::size_t>(pieces[i].device)];
        device.difference += sums[i].difference;
        device.reference += sums[i].reference;
        device.count += sums[i].count;
    }
    return worstError(devices, among);
}

double CpuExecutor::meanSquare(Context& context, const Sharded& reference)
{
    const std::int64_t count = reference.elements(0);
    if (context.planning() || count == 0)
        return 0;
    std::vector<double> sums(static_cast<std::size_t>((count + kComparedElements - 1) / kComparedElements), 0.0);
    if (context.team != nullptr && context.team->referenceRank() != 0)
        return 0;
    context.pool->run(static_cast<std::int64_t>(sums.size()), [&](std::int64_t piece, int) {
        const std::int64_t end = std::min(count, (piece + 1) * kComparedElements);
        double sum = 0;
        for (std::int64_t i = piece * kComparedElements; i < end; ++i)
            sum += double { reference.data(0)[i] } * double { reference.data(0)[i] };
        sums[static_cast<std::size_t>(piece)] = sum;
    });
    double sum = 0;
    for (const double each : sums)
        sum += each;
    return sum / static_cast<double>(count);
}

void CpuExecutor::assemble(Context& context, const Sharded& value, Sharded& whole)
{
    beginReading(context, allToFirst(context, value));
    if (context.planning())
        return;
    const bool first = context.team == nullptr || context.team->rank() == 0; // the reference lies there
    for (std::int64_t device = 0; device < value.deviceCount() && first; ++device)
        if (value.elements(device) > 0)
            copyRegion(value.box(device), value.box(device), value.data(device), whole.box(0), whole.data(0), Combine::Copy);
    endReading(context);
}

void CpuExecutor::show(Context& context, const Sharded& value, const Sharded* unsharded, const Look& look)
{
    beginReading(context, allToFirst(context, value));
    if (context.planning())
        return;
    look(value, unsharded);
    endReading(context);
}

} // namespace shardboard::engine
