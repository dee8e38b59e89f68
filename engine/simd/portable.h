// SPDX-License-Identifier: Apache-2.0
// Code that is compiled for the CPU and for a GPU. C++17.
#pragma once

#ifdef __CUDACC__
#define SHARDBOARD_BOTH __host__ __device__ __forceinline__
#else
#define SHARDBOARD_BOTH inline
#endif

/// Before a loop whose turns may share an element only where one turn reads and writes it.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define SHARDBOARD_INDEPENDENT _Pragma("GCC ivdep")
#else
#define SHARDBOARD_INDEPENDENT
#endif

namespace shardboard::engine {

/// Rounded on their own, never fused into one operation: sources that include this for the CPU are compiled so that products
/// and sums stay apart (-ffp-contract=off) where that counts.
SHARDBOARD_BOTH float multiplyRounded(float a, float b)
{
#ifdef __CUDA_ARCH__
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}
SHARDBOARD_BOTH float addRounded(float a, float b)
{
#ifdef __CUDA_ARCH__
    return __fadd_rn(a, b);
#else
    return a + b;
#endif
}

} // namespace shardboard::engine
