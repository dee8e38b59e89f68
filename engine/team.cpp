// SPDX-License-Identifier: Apache-2.0
#include "engine/team.h"

namespace shardboard::engine {

namespace {

void needRegion(std::vector<Delivery>& deliveries, const Context& context, int from, float* values, const Box& box, const Box& region,
                int place)
{
    if (volumeOf(region) > 0 && !context.team->sameHost(from, place))
        deliveries.push_back({ from, place, region, box, values, box, values }); // at the same place in the memory of both
}

bool nobodyIsFar(const Context& context) { return context.team == nullptr || !context.team->spansHosts(); }

} // namespace

void need(std::vector<Delivery>& deliveries, const Context& context, const Sharded& tensor, std::int64_t position, const Box& region,
          int place)
{
    if (!nobodyIsFar(context))
        needRegion(deliveries, context, context.arena.placement().of(tensor.mesh(), position),
                   reinterpret_cast<float*>(tensor.address(position)), tensor.box(position), region, place);
}

void needElements(std::vector<Delivery>& deliveries, const Context& context, const Sharded& tensor, std::int64_t position,
                  const Range& elements, int place)
{
    if (!nobodyIsFar(context))
        needRegion(deliveries, context, context.arena.placement().of(tensor.mesh(), position),
                   reinterpret_cast<float*>(tensor.address(position)), { { 0, tensor.elements(position) } }, { elements }, place);
}

void needFloats(std::vector<Delivery>& deliveries, const Context& context, const Mesh& mesh, std::int64_t position, float* values,
                std::int64_t count, int place)
{
    if (!nobodyIsFar(context))
        needRegion(deliveries, context, context.arena.placement().of(mesh, position), values, { { 0, count } }, { { 0, count } }, place);
}

bool sameHost(const Context& context, const Mesh& mesh, std::int64_t a, std::int64_t b)
{
    const Placement& placement = context.arena.placement();
    return nobodyIsFar(context) || context.team->sameHost(placement.of(mesh, a), placement.of(mesh, b));
}

void beginReading(Context& context, const std::vector<Delivery>& deliveries)
{
    if (context.team == nullptr)
        return;
    context.team->meet();
    if (context.team->spansHosts())
        context.team->deliver(deliveries);
}

void endReading(Context& context)
{
    if (context.team == nullptr)
        return;
    context.team->meet();
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
