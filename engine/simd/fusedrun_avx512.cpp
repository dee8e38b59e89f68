// SPDX-License-Identifier: Apache-2.0
// Compiled for processors that have AVX-512; fusedrun.cpp calls it on those alone.
#include "engine/simd/fusedloops.h"

#include <immintrin.h>

namespace shardboard::engine {

void fusedRun_avx512(const FusedRun& run);

namespace {

struct Vector {
    using Value = __m512;
    static constexpr std::int64_t kFloats = 16;
    static Value load(const float* from) { return _mm512_loadu_ps(from); }
    static void store(float* to, Value value) { _mm512_storeu_ps(to, value); }
    static void stream(float* to, Value value) { _mm512_stream_ps(to, value); }
    static Value add(Value a, Value b) { return _mm512_add_ps(a, b); }
    /// With a mask of all, because g++ 12 takes _mm512_max_ps for a use of what was never set.
    static Value highest(Value a, Value b) { return _mm512_mask_max_ps(a, 0xffff, a, b); }
};

} // namespace

void fusedRun_avx512(const FusedRun& run) { FusedLoops<Vector>::run(run); }

} // namespace shardboard::engine
