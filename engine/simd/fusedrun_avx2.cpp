// SPDX-License-Identifier: Apache-2.0
// Compiled for processors that have AVX2; fusedrun.cpp calls it on those alone.
#include "engine/simd/fusedloops.h"

#include <immintrin.h>

namespace shardboard::engine {

void fusedRun_avx2(const FusedRun& run);

namespace {

struct Vector {
    using Value = __m256;
    static constexpr std::int64_t kFloats = 8;
    static Value load(const float* from) { return _mm256_loadu_ps(from); }
    static void store(float* to, Value value) { _mm256_storeu_ps(to, value); }
    static void stream(float* to, Value value) { _mm256_stream_ps(to, value); }
    static Value add(Value a, Value b) { return _mm256_add_ps(a, b); }
    static Value highest(Value a, Value b) { return _mm256_max_ps(a, b); }
};

} // namespace

void fusedRun_avx2(const FusedRun& run) { FusedLoops<Vector>::run(run); }

} // namespace shardboard::engine
