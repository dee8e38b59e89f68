// SPDX-License-Identifier: Apache-2.0
#include "engine/ringexchange.h"

#include "engine/failure.h"

#include <algorithm>
#include <cstring>

namespace shardboard::engine {

namespace {

constexpr std::int64_t kAlignFloats = 64;
constexpr std::int64_t kPieceFloats = 1 << 18;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

} // namespace

RingExchange::RingExchange(Context& context, const OpCall& call, std::vector<std::size_t> operands, Reading reading)
    : m_context(context)
    , m_call(call)
    , m_reading(reading)
{
    std::vector<int> axes;
    for (const RingTransfer& transfer : *call.rings)
        for (const int axis : transfer.axes)
            if (std::find(axes.begin(), axes.end(), axis) == axes.end())
                axes.push_back(axis);
    const Sharded& like = *call.operands[operands.front()];
    for (std::int64_t device = 0; device < like.deviceCount(); ++device) {
        auto group = like.mesh().group(device, axes);
        // Itself first, then the one before it in the ring, whose part arrives first.
        std::reverse(group.begin(), group.end());
        std::rotate(group.begin(), std::find(group.begin(), group.end(), device), group.end());
        m_hops = static_cast<std::int64_t>(group.size());
        m_rings.push_back(std::move(group));
    }
    for (const std::size_t operand : operands) {
        if (reading == Reading::Copied && transferOf(operand) == nullptr)
            failPlan("it needs parts of other devices, and no ring brings them", call.where);
        Room room;
        room.operand = operand;
        room.inPlace = reading == Reading::InPlace || transferOf(operand)->shared;
        if (!room.inPlace && m_hops > 1) {
            std::int64_t end = 0;
            for (const auto& ring : m_rings) {
                std::int64_t largest = 0;
                for (const std::int64_t member : ring)
                    largest = std::max(largest, call.operands[operand]->elements(member));
                room.offsets.push_back(end);
                end += (largest + kAlignFloats - 1) / kAlignFloats * kAlignFloats;
            }
            room.block = context.arena.allocateFloats(end);
            context.work.touched += static_cast<double>(end * (m_hops - 1)) * 2;
        }
        m_rooms.push_back(std::move(room));
    }
}

std::int64_t RingExchange::memberAt(std::int64_t device, std::int64_t hop) const { return m_rings[at(device)][at(hop)]; }

RingTransfer* RingExchange::transferOf(std::size_t operand) const
{
    for (RingTransfer& transfer : *m_call.rings)
        if (transfer.operand == operand)
            return &transfer;
    return nullptr;
}

void RingExchange::go(std::int64_t hop)
{
    m_hop = hop;
    if (hop == 0 || m_reading == Reading::InPlace || m_context.planning())
        return;
    for (Room& room : m_rooms)
        if (!room.inPlace)
            receive(room);
}

void RingExchange::receive(Room& room)
{
    const Sharded& tensor = *m_call.operands[room.operand];
    RingTransfer& transfer = *transferOf(room.operand);
    struct Piece {
        std::int64_t first;
        std::int64_t count;
    };
    std::vector<Piece> pieces;
    std::vector<std::int64_t> devices;
    for (std::int64_t device = 0; device < tensor.deviceCount(); ++device) {
        const std::int64_t elements = tensor.elements(owner(device));
        for (std::int64_t first = 0; first < elements; first += kPieceFloats) {
            pieces.push_back({ first, std::min(kPieceFloats, elements - first) });
            devices.push_back(device);
        }
    }
    const bool lost = transfer.broken && m_hop + 1 == m_hops;
    transfer.timing += runTimed(m_context, tensor.deviceCount(), devices, [&](std::size_t index, int) {
        const std::int64_t device = devices[index];
        const Piece& piece = pieces[index];
        float* to = room.block.floats() + room.offsets[at(device)] + piece.first;
        if (lost)
            std::memset(to, 0, at(piece.count) * sizeof(float));
        else
            std::memcpy(to, tensor.data(owner(device)) + piece.first, at(piece.count) * sizeof(float));
        return 0.0;
    });
}

AttentionPart RingExchange::part(std::int64_t device, std::size_t operand) const
{
    const Sharded& tensor = *m_call.operands[operand];
    const std::int64_t from = owner(device);
    if (m_hop == 0 || m_reading == Reading::InPlace)
        return { tensor.data(from), &tensor.box(from) };
    for (const Room& room : m_rooms)
        if (room.operand == operand && room.inPlace)
            return { tensor.data(from), &tensor.box(from) };
        else if (room.operand == operand)
            return { room.block.floats() + room.offsets[at(device)], &tensor.box(from) };
    return { tensor.data(device), &tensor.box(device) }; // it does not travel
}

} // namespace shardboard::engine
