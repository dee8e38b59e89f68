// SPDX-License-Identifier: Apache-2.0
// The parts of a step on threads of this process, for tests that call them one by one, and tensors with known numbers.
#pragma once

#include "engine/cpu/cpuexecutor.h"
#include "engine/run/step/handover.h"
#include "tests/engine/testprogram.h"

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace shardboard::engine::test {

/// Calls `each` with the number of every element of a shard and its number in the whole tensor, both row-major.
inline void forEachElement(const Sharded& tensor, std::int64_t device, const std::function<void(std::int64_t, std::int64_t)>& each)
{
    const Box& box = tensor.box(device);
    for (std::int64_t i = 0; i < tensor.elements(device); ++i) {
        std::int64_t rest = i;
        std::int64_t number = 0;
        std::int64_t stride = 1;
        for (std::size_t d = box.size(); d-- > 0;) {
            number += (box[d].lo + rest % box[d].size()) * stride;
            rest /= box[d].size();
            stride *= tensor.shape()[d];
        }
        each(i, number);
    }
}

/// Fills every shard with what `value` says of an element's number in the whole tensor.
inline Sharded filled(Sharded tensor, Arena& arena, const std::function<float(std::int64_t)>& value)
{
    tensor.allocate(arena);
    for (std::int64_t device = 0; device < tensor.deviceCount(); ++device)
        forEachElement(tensor, device, [&](std::int64_t i, std::int64_t number) { tensor.data(device)[i] = value(number); });
    return tensor;
}

/// Whether every device holds what `value` says.
inline bool holds(const Sharded* tensor, const std::function<float(std::int64_t)>& value)
{
    bool all = tensor != nullptr && tensor->totalElements() > 0;
    for (std::int64_t device = 0; all && device < tensor->deviceCount(); ++device)
        forEachElement(*tensor, device,
                       [&](std::int64_t i, std::int64_t number) { all = all && tensor->data(device)[i] == value(number); });
    return all;
}

struct StepParts {
    explicit StepParts(Program ofProgram, RunOptions ofOptions = {}, RunHooks hooks = {}, Team* team = nullptr,
                       Profiler* profiler = nullptr)
        : program(std::move(ofProgram))
        , options(std::move(ofOptions))
        , request { program, options, std::move(hooks), {}, team }
        , context { arena, cpu, &pool, 2, {}, false, team }
        , times(request, context, state.stages, record, profiler)
    {
    }
    /// Closes the step.
    RunResult result()
    {
        RunResult out;
        record.endStep();
        record.finish(out);
        return out;
    }
    /// The unsharded tensor.
    Sharded* whole(TensorId tensor) { return verification.find(tensor); }
    void putWhole(TensorId tensor, const std::function<float(std::int64_t)>& value)
    {
        verification.put(tensor, filled(verification.fromSource(tensor, {}), arena, value));
    }

    const Program program;
    const RunOptions options;
    const RunRequest request;
    const std::vector<SegmentPass> passes = scheduleOf(program, options);
    Arena arena { std::int64_t { 64 } << 20 };
    TaskPool pool { 2, nullptr };
    CpuExecutor cpu;
    Context context;
    RunRecord record;
    StepState state { request, context };
    StepTimes times;
    Verification verification { state, record };
    HandOver handOver { state, verification, times };
};

} // namespace shardboard::engine::test
