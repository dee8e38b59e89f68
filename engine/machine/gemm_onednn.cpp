// SPDX-License-Identifier: Apache-2.0
#include "engine/machine/gemm.h"

#include "engine/machine/failure.h"
#include "engine/simd/scalerows.h"

#include <oneapi/dnnl/dnnl.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <string>

namespace shardboard::engine {

const char* gemmName()
{
    static const std::string name = [] {
        const dnnl_version_t* version = dnnl_version();
        return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "."
            + std::to_string(version->patch);
    }();
    return name.c_str();
}

void prepareGemmThread()
{
#ifdef _OPENMP
    omp_set_num_threads(1); // of this thread only
#endif
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
    // The library refuses row distances that are too short even where there is only one row.
    lda = std::max(lda, transposeA ? m : k);
    ldb = std::max(ldb, transposeB ? k : n);
    ldc = std::max(ldc, n);
    const dnnl_status_t status =
        dnnl_sgemm(transposeA ? 'T' : 'N', transposeB ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    if (status == dnnl_out_of_memory)
        throw std::bad_alloc();
    if (status != dnnl_success)
        throw Failure { "internal", "oneDNN refused a matrix product (status " + std::to_string(status) + ")", "" };
}

} // namespace shardboard::engine
