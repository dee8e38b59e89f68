// SPDX-License-Identifier: Apache-2.0
// The last resort: blocks of B are packed row-major so that the inner loop runs along rows and vectorises.
#include "engine/machine/gemm.h"

#include "engine/simd/scalerows.h"
#include "engine/simd/simd.h"

#include <algorithm>

namespace shardboard::engine {

namespace {
constexpr std::int64_t kBlockN = 256;
constexpr std::int64_t kBlockK = 128;
} // namespace

SHARDBOARD_CLONES void addProductRow(const float* scale, const float* packed, std::int64_t kCount, std::int64_t nCount, float* c);

/// c[0..nCount) += sum over k of scale[k] * packed[k][0..nCount)
SHARDBOARD_CLONES void addProductRow(const float* scale, const float* packed, std::int64_t kCount, std::int64_t nCount, float* c)
{
    float sums[kBlockN];
    for (std::int64_t j = 0; j < nCount; ++j)
        sums[j] = c[j];
    for (std::int64_t k = 0; k < kCount; ++k) {
        const float s = scale[k];
        const float* row = packed + k * kBlockN;
        for (std::int64_t j = 0; j < nCount; ++j)
            sums[j] += s * row[j];
    }
    for (std::int64_t j = 0; j < nCount; ++j)
        c[j] = sums[j];
}

const char* gemmName() { return "plain loops"; }

void prepareGemmThread() { }

void sgemm(bool transposeA, bool transposeB, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a,
           std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc)
{
    if (beta != 1)
        scaleRows(m, n, beta, c, ldc);
    float packed[kBlockK * kBlockN];
    float scale[kBlockK];
    for (std::int64_t k0 = 0; k0 < k; k0 += kBlockK) {
        const std::int64_t kCount = std::min(kBlockK, k - k0);
        for (std::int64_t n0 = 0; n0 < n; n0 += kBlockN) {
            const std::int64_t nCount = std::min(kBlockN, n - n0);
            for (std::int64_t p = 0; p < kCount; ++p)
                for (std::int64_t j = 0; j < nCount; ++j)
                    packed[p * kBlockN + j] = transposeB ? b[(n0 + j) * ldb + k0 + p] : b[(k0 + p) * ldb + n0 + j];
            for (std::int64_t i = 0; i < m; ++i) {
                for (std::int64_t p = 0; p < kCount; ++p)
                    scale[p] = alpha * (transposeA ? a[(k0 + p) * lda + i] : a[i * lda + k0 + p]);
                addProductRow(scale, packed, kCount, nCount, c + i * ldc + n0);
            }
        }
    }
}

bool hasBf16Products() { return false; }

void bf16gemm(bool transposeA, bool transposeB, std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda,
              const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc)
{
    sgemm(transposeA, transposeB, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}

} // namespace shardboard::engine
