// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/deviceexecutor.h"

#include "model/core/checked.h"

#include <limits>
#include <numeric>
#include <optional>

namespace shardboard::engine {

namespace {

/// A tensor of an executor in memory of this process, as long as it lives.
class Brought {
public:
    Brought(DeviceExecutor& executor, const Sharded* value)
    {
        if (value == nullptr)
            return;
        m_value.emplace(value->shape(), value->layout(), value->mesh());
        m_arena.emplace(m_value->bytes() + 4096);
        m_value->allocate(*m_arena);
        executor.bringHere(*value, *m_value);
    }
    const Sharded* get() const { return m_value ? &*m_value : nullptr; }

private:
    std::optional<Arena> m_arena; // outlives the value's memory
    std::optional<Sharded> m_value;
};

} // namespace

std::int64_t DeviceExecutor::availableToAll(int ranks, const Team*) const
{
    return checkedMultiply(availableBytes(), ranks).value_or(std::numeric_limits<std::int64_t>::max());
}

std::vector<MemoryDemand> DeviceExecutor::demandsOf(const std::vector<std::int64_t>& neededByRank, std::int64_t limit,
                                                    const Team*) const
{
    if (limit > 0)
        return { { "", std::accumulate(neededByRank.begin(), neededByRank.end(), std::int64_t { 0 }), limit } };
    std::vector<MemoryDemand> demands;
    for (const std::int64_t needed : neededByRank) {
        const int rank = static_cast<int>(demands.size());
        demands.push_back({ nameOf(rank), needed, availableBytesAt(rank) });
    }
    return demands;
}

void DeviceExecutor::ready(Arena& arena, TaskPool&, bool poisons)
{
    if (poisons)
        arena.poisonWith([this](std::byte* first, std::int64_t bytes) { poison(first, bytes); });
}

void DeviceExecutor::show(Context& context, const Sharded& value, const Sharded* unsharded, const Look& look)
{
    if (context.planning())
        return;
    const Brought here(*this, &value);
    const Brought wholeHere(*this, unsharded);
    look(*here.get(), wholeHere.get());
}

} // namespace shardboard::engine
