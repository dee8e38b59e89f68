// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/team.h"

#include <algorithm>

namespace shardboard::engine {

std::int64_t broughtBytes(const Delivery& delivery)
{
    const Box& box = delivery.targetBox;
    std::int64_t run = 1; // contiguous elements
    for (std::size_t d = box.size(); d-- > 0;) {
        run *= delivery.region[d].size();
        if (delivery.region[d] != box[d])
            break;
    }
    constexpr std::int64_t kPages = 8192; // that the ends of a run may share with others
    const std::int64_t elements = volumeOf(delivery.region);
    const auto bytes = static_cast<std::int64_t>(sizeof(float));
    return elements == 0 ? 0 : std::min(volumeOf(box) * bytes + kPages, elements / run * (run * bytes + kPages));
}

bool PlanningTeam::deliver(const std::vector<Delivery>& deliveries)
{
    std::vector<std::int64_t> bytes(m_most.size(), 0);
    for (const Delivery& delivery : deliveries)
        bytes[static_cast<std::size_t>(delivery.to)] += broughtBytes(delivery);
    for (std::size_t rank = 0; rank < m_most.size(); ++rank)
        m_most[rank] = std::max(m_most[rank], bytes[rank]);
    return false;
}

std::int64_t PlanningTeam::mostBrought(int rank) const
{
    const std::int64_t most = m_most[static_cast<std::size_t>(rank)];
    return most == 0 ? 0 : most + kKeptBrought;
}

namespace {

bool nobodyIsFar(const Context& context) { return context.team == nullptr || !context.team->spansHosts(); }

/// What the device at a mesh position holds, row-major, at the same address in the memory of every rank.
struct Held {
    const Mesh& mesh;
    std::int64_t position;
    float* values;
    Box box;
};

void needRegion(std::vector<Delivery>& deliveries, const Context& context, const Held& held, const Box& region, int rank)
{
    if (nobodyIsFar(context) || volumeOf(region) == 0)
        return;
    const int from = context.arena.deviceRanks().of(held.mesh, held.position);
    if (!context.team->sameHost(from, rank))
        deliveries.push_back({ from, rank, region, held.box, held.values, held.box, held.values });
}

Held heldOf(const Sharded& tensor, std::int64_t position, Box box)
{
    return { tensor.mesh(), position, reinterpret_cast<float*>(tensor.address(position)), std::move(box) };
}

} // namespace

void need(std::vector<Delivery>& deliveries, const Context& context, const Sharded& tensor, std::int64_t position,
          const Box& region, int rank)
{
    needRegion(deliveries, context, heldOf(tensor, position, tensor.box(position)), region, rank);
}

void needElements(std::vector<Delivery>& deliveries, const Context& context, const Sharded& tensor, std::int64_t position,
                  const Range& elements, int rank)
{
    needRegion(deliveries, context, heldOf(tensor, position, { { 0, tensor.elements(position) } }), { elements }, rank);
}

void needFloats(std::vector<Delivery>& deliveries, const Context& context, const Mesh& mesh, std::int64_t position,
                std::span<float> values, int rank)
{
    const Box all { { 0, static_cast<std::int64_t>(values.size()) } };
    needRegion(deliveries, context, { mesh, position, values.data(), all }, all, rank);
}

bool sameHost(const Context& context, const Mesh& mesh, std::int64_t a, std::int64_t b)
{
    const DeviceRanks& deviceRanks = context.arena.deviceRanks();
    return nobodyIsFar(context) || context.team->sameHost(deviceRanks.of(mesh, a), deviceRanks.of(mesh, b));
}

Timing::Span bring(Context& context, const std::vector<Delivery>& deliveries)
{
    if (nobodyIsFar(context))
        return {};
    const double start = now();
    return context.team->deliver(deliveries) ? Timing::Span { start, now() } : Timing::Span {};
}

Timing::Span beginReading(Context& context, const std::vector<Delivery>& deliveries)
{
    context.hostBarrier();
    return bring(context, deliveries);
}

void endReading(Context& context)
{
    if (context.team == nullptr)
        return;
    context.team->hostBarrier();
    context.team->forgetBrought();
}

std::vector<Delivery> allToFirst(const Context& context, const Sharded& tensor)
{
    std::vector<Delivery> deliveries;
    for (std::int64_t position = 0; position < tensor.deviceCount(); ++position)
        need(deliveries, context, tensor, position, tensor.box(position), 0);
    return deliveries;
}

} // namespace shardboard::engine
