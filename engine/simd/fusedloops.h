// SPDX-License-Identifier: Apache-2.0
// The loops of fusedrun.h over vectors of one instruction set. Included by one source for each set, compiled for it; all is
// in a namespace without a name, so that no other source gets a copy that its processor may not know.
#pragma once

#include "engine/simd/fusedrun.h"

namespace shardboard::engine {
namespace {

/// `Vector` has Value, kFloats, load, store, stream (to an aligned place), add and highest (the first where it is larger).
template <class Vector>
class FusedLoops {
public:
    static void run(const FusedRun& run)
    {
        std::int64_t done = 0;
        if (run.pastCaches && alignedAlike(run)) {
            const std::int64_t head = floatsToAlignment(run);
            scalars(run, 0, head);
            done = head;
            done = run.sum == FusedSum::Add ? vectors<true, false>(run, done) : vectors<true, true>(run, done);
        } else {
            done = run.sum == FusedSum::Add ? vectors<false, false>(run, 0) : vectors<false, true>(run, 0);
        }
        scalars(run, done, run.count);
    }

private:
    using Value = typename Vector::Value;
    static constexpr std::int64_t kFloats = Vector::kFloats;
    static constexpr std::int64_t kBytes = kFloats * 4;

    static std::int64_t misalignment(const float* place)
    {
        return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(place) % kBytes);
    }

    static bool alignedAlike(const FusedRun& run)
    {
        for (std::int64_t t = 1; t < run.targets; ++t)
            if (misalignment(run.to[t]) != misalignment(run.to[0]))
                return false;
        return true;
    }

    static std::int64_t floatsToAlignment(const FusedRun& run)
    {
        const std::int64_t head = (kBytes - misalignment(run.to[0])) % kBytes / 4;
        return head < run.count ? head : run.count;
    }

    static void scalars(const FusedRun& run, std::int64_t first, std::int64_t last)
    {
        for (std::int64_t i = first; i < last; ++i) {
            float sum = run.from[0][i];
            for (std::int64_t s = 1; s < run.sources; ++s) {
                const float next = run.from[s][i];
                sum = run.sum == FusedSum::Add ? sum + next : (next > sum ? next : sum);
            }
            for (std::int64_t t = 0; t < run.targets; ++t)
                run.to[t][i] = sum;
        }
    }

    template <bool Max>
    static Value combined(Value sum, const float* next)
    {
        return Max ? Vector::highest(Vector::load(next), sum) : Vector::add(sum, Vector::load(next));
    }

    template <bool Past>
    static void put(float* to, Value value)
    {
        if constexpr (Past)
            Vector::stream(to, value);
        else
            Vector::store(to, value);
    }

    /// Asks for what a later turn reads of a source. With many of them the processor does not see by itself what comes next, at
    /// the latest where a page ends.
    static void ask(const float* next)
    {
        constexpr std::int64_t kAhead = 256; // floats
        for (std::int64_t line = 0; line < 4 * kFloats; line += 16)
            __builtin_prefetch(next + kAhead + line);
    }

    /// Four vectors at once: a line or more of each source, so that few rows of the memory are open at a time. Returns the
    /// first element that is left.
    template <bool Past, bool Max>
    static std::int64_t vectors(const FusedRun& run, std::int64_t i)
    {
        const float* const* const from = run.from;
        float* const* const to = run.to;
        const std::int64_t sources = run.sources;
        const std::int64_t targets = run.targets;
        for (; i + 4 * kFloats <= run.count; i += 4 * kFloats) {
            const float* first = from[0] + i;
            if constexpr (Past)
                if (sources > 1)
                    ask(first);
            Value a = Vector::load(first);
            Value b = Vector::load(first + kFloats);
            Value c = Vector::load(first + 2 * kFloats);
            Value d = Vector::load(first + 3 * kFloats);
            for (std::int64_t s = 1; s < sources; ++s) {
                const float* next = from[s] + i;
                if constexpr (Past)
                    ask(next);
                a = combined<Max>(a, next);
                b = combined<Max>(b, next + kFloats);
                c = combined<Max>(c, next + 2 * kFloats);
                d = combined<Max>(d, next + 3 * kFloats);
            }
            for (std::int64_t t = 0; t < targets; ++t) {
                float* out = to[t] + i;
                put<Past>(out, a);
                put<Past>(out + kFloats, b);
                put<Past>(out + 2 * kFloats, c);
                put<Past>(out + 3 * kFloats, d);
            }
        }
        for (; i + kFloats <= run.count; i += kFloats) {
            Value a = Vector::load(from[0] + i);
            for (std::int64_t s = 1; s < sources; ++s)
                a = combined<Max>(a, from[s] + i);
            for (std::int64_t t = 0; t < targets; ++t)
                put<Past>(to[t] + i, a);
        }
        return i;
    }
};

} // namespace
} // namespace shardboard::engine
