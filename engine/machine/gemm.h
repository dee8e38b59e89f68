// SPDX-License-Identifier: Apache-2.0
// Matrix products in float32 on one thread, by oneDNN, a CBLAS or our own loops (chosen when the engine was configured).
// The engine runs many products side by side on its own worker threads, which also fixes the order of every sum.
#pragma once

#include <cstdint>

namespace shardboard::engine {

/// What computes the products: `oneDNN 2.6.3`, `OpenBLAS`, `plain loops`.
const char* gemmName();

/// Called once at the start of every thread that calls sgemm.
void prepareGemmThread();

/// C = alpha op(A) op(B) + beta C with row-major matrices: op(A) is m x k, op(B) is k x n, C is m x n; op transposes where the
/// flag is set. `lda`, `ldb`, `ldc` are distances between stored rows, in elements. C is not read when beta is 0.
void sgemm(bool transposeA, bool transposeB, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a,
           std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc);

/// Whether this processor and library multiply bfloat16 faster than float32.
bool hasBf16Products();

/// C = op(A) op(B) + beta C (beta 0 or 1) for matrices of bfloat16 values, which lie as float32: narrowed to two bytes (what
/// bfloat16 does not hold is cut off), multiplied as such and summed in float32. Takes 2 bytes for each element of A and B.
/// Without such products, and where narrowing would cost more than it saves, it is sgemm().
void bf16gemm(bool transposeA, bool transposeB, std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda,
              const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc);

} // namespace shardboard::engine
