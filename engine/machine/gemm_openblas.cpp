// SPDX-License-Identifier: Apache-2.0
#include "engine/machine/gemm.h"

#include "engine/simd/scalerows.h"

#include <algorithm>
#include <cblas.h>
#include <mutex>

namespace shardboard::engine {

const char* gemmName() { return "OpenBLAS"; }

void prepareGemmThread()
{
    static std::once_flag once;
    std::call_once(once, [] { openblas_set_num_threads(1); });
}

void sgemm(bool transposeA, bool transposeB, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a,
           std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc)
{
    if (m <= 0 || n <= 0)
        return;
    if (k <= 0) {
        scaleRows(m, n, beta, c, ldc);
        return;
    }
    const auto size = [](std::int64_t value) { return static_cast<blasint>(value); };
    cblas_sgemm(CblasRowMajor, transposeA ? CblasTrans : CblasNoTrans, transposeB ? CblasTrans : CblasNoTrans, size(m), size(n),
                size(k), alpha, a, size(std::max(lda, transposeA ? m : k)), b, size(std::max(ldb, transposeB ? k : n)), beta, c,
                size(std::max(ldc, n)));
}

bool hasBf16Products() { return false; }

void bf16gemm(bool transposeA, bool transposeB, std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t lda,
              const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc)
{
    sgemm(transposeA, transposeB, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}

} // namespace shardboard::engine
