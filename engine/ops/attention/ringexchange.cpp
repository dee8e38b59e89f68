// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/attention/ringexchange.h"

#include "engine/machine/failure.h"
#include "engine/machine/index.h"

#include <algorithm>
#include <cstring>

namespace shardboard::engine {

namespace {

constexpr std::int64_t kPieceFloats = 1 << 18;

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
            std::vector<std::int64_t> sizes;
            std::int64_t floats = 0;
            for (const auto& ring : m_rings) {
                sizes.push_back(0);
                for (const std::int64_t member : ring)
                    sizes.back() = std::max(sizes.back(), call.operands[operand]->elements(member));
                floats += sizes.back();
            }
            room.parts.allocate(context.arena, call.operands[operand]->mesh(), sizes, sizeof(float));
            context.work.touched += static_cast<double>(floats * (m_hops - 1)) * 2;
        }
        m_rooms.push_back(std::move(room));
    }
    for (m_hop = 1; context.planning() && context.team != nullptr && m_hop < m_hops; ++m_hop)
        go(m_hop);
    m_hop = 0;
}

std::int64_t RingExchange::memberAt(std::int64_t device, std::int64_t hop) const { return m_rings[at(device)][at(hop)]; }

RingTransfer* RingExchange::transferOf(std::size_t operand) const
{
    for (RingTransfer& transfer : *m_call.rings)
        if (transfer.operand == operand)
            return &transfer;
    return nullptr;
}

void RingExchange::go(std::int64_t hop, std::vector<Delivery> more)
{
    m_hop = hop;
    finish();
    if (hop == 0)
        return;
    addNeeds(more);
    const Timing::Span brought = beginReading(m_context, more);
    m_open = true;
    if (m_reading == Reading::InPlace || m_context.planning())
        return;
    for (Room& room : m_rooms)
        if (!room.inPlace)
            receive(room);
    if (m_context.team != nullptr && m_context.team->spansHosts())
        recordBrought(brought);
}

/// One message brings all operands: each has its part of the time, by its size.
void RingExchange::recordBrought(const Timing::Span& span)
{
    double all = 0;
    for (const Room& room : m_rooms)
        all += room.inPlace ? 0.0 : static_cast<double>(m_call.operands[room.operand]->totalElements());
    for (const Room& room : m_rooms)
        if (!room.inPlace)
            transferOf(room.operand)
                ->timing.brought.push_back({ span, static_cast<double>(m_call.operands[room.operand]->totalElements()) / all });
}

void RingExchange::finish()
{
    if (m_open)
        endReading(m_context);
    m_open = false;
}

void RingExchange::addNeeds(std::vector<Delivery>& deliveries) const
{
    for (const Room& room : m_rooms) {
        const Sharded& tensor = *m_call.operands[room.operand];
        for (std::int64_t device = 0; device < tensor.deviceCount(); ++device)
            need(deliveries, m_context, tensor, owner(device), tensor.box(owner(device)),
                 m_context.arena.deviceRanks().of(tensor.mesh(), device));
    }
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
    transfer.timing += runTimed(m_context, tensor.mesh(), devices, [&](std::size_t index, int) {
        const std::int64_t device = devices[index];
        const Piece& piece = pieces[index];
        float* to = room.parts.floats(device) + piece.first;
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
            return { room.parts.floats(device), &tensor.box(from) };
    return { tensor.data(device), &tensor.box(device) }; // it does not travel
}

} // namespace shardboard::engine
