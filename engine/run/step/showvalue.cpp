// SPDX-License-Identifier: Apache-2.0
#include "engine/run/step/showvalue.h"

#include "engine/devices/executor.h"
#include "engine/devices/team.h"

#include <optional>

namespace shardboard::engine {

namespace {

/// A tensor of an executor in memory of this process, as long as it lives.
class Brought {
public:
    Brought(Executor& executor, const Sharded* value)
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

void showValue(StepState& state, const SegmentPass& pass, TensorId tensor, const Sharded* unsharded)
{
    Context& context = state.context;
    if (!state.showsValues || (context.planning() && (context.team == nullptr || context.executor != nullptr)))
        return;
    const Sharded* value = state.current(tensor);
    const std::string name = concreteName(state.graph.tensor(tensor).name, pass.layer);
    if (context.executor != nullptr) {
        Brought here(*context.executor, value);
        Brought wholeHere(*context.executor, unsharded);
        if (state.leads() && state.hooks.value)
            state.hooks.value({ name, pass.microBatch, *here.get(), wholeHere.get() });
        return;
    }
    beginReading(context, allToFirst(context, *value));
    if (context.planning())
        return;
    if (state.leads() && state.hooks.value)
        state.hooks.value({ name, pass.microBatch, *value, unsharded });
    endReading(context);
}

} // namespace shardboard::engine
