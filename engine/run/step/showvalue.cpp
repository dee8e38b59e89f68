// SPDX-License-Identifier: Apache-2.0
#include "engine/run/step/showvalue.h"

#include "engine/devices/executor.h"

namespace shardboard::engine {

void showValue(StepState& state, const SegmentPass& pass, TensorId tensor, const Sharded* unsharded)
{
    if (!state.showsValues)
        return;
    state.context.executor.show(
        state.context, *state.current(tensor), unsharded, [&](const Sharded& value, const Sharded* reference) {
            if (state.leads() && state.hooks.value)
                state.hooks.value({ concreteName(state.graph.tensor(tensor).name, pass.layer), pass.microBatch, value, reference });
        });
}

} // namespace shardboard::engine
