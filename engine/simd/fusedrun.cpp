// SPDX-License-Identifier: Apache-2.0
#include "engine/simd/fusedrun.h"

#include "engine/simd/fusedloops.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace shardboard::engine {

#ifdef SHARDBOARD_X86_VARIANTS
void fusedRun_avx2(const FusedRun& run);
void fusedRun_avx512(const FusedRun& run);
#endif

namespace {

#ifdef __SSE2__
struct Vector {
    using Value = __m128;
    static constexpr std::int64_t kFloats = 4;
    static Value load(const float* from) { return _mm_loadu_ps(from); }
    static void store(float* to, Value value) { _mm_storeu_ps(to, value); }
    static void stream(float* to, Value value) { _mm_stream_ps(to, value); }
    static Value add(Value a, Value b) { return _mm_add_ps(a, b); }
    static Value highest(Value a, Value b) { return _mm_max_ps(a, b); }
};
#else
struct Vector {
    using Value = float;
    static constexpr std::int64_t kFloats = 1;
    static Value load(const float* from) { return *from; }
    static void store(float* to, Value value) { *to = value; }
    static void stream(float* to, Value value) { *to = value; }
    static Value add(Value a, Value b) { return a + b; }
    static Value highest(Value a, Value b) { return a > b ? a : b; }
};
#endif

using Run = void (*)(const FusedRun&);

Run chooseRun()
{
#ifdef SHARDBOARD_X86_VARIANTS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return fusedRun_avx512;
    if (__builtin_cpu_supports("avx2"))
        return fusedRun_avx2;
#endif
    return FusedLoops<Vector>::run;
}

} // namespace

void fusedRun(const FusedRun& run)
{
    static const Run chosen = chooseRun();
    chosen(run);
}

void finishRuns()
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

void copyRun(const float* from, std::int64_t count, float* to, bool pastCaches)
{
    FusedRun run;
    run.from = &from;
    run.to = &to;
    run.count = count;
    run.pastCaches = pastCaches;
    fusedRun(run);
}

} // namespace shardboard::engine
