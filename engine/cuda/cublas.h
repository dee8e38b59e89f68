// SPDX-License-Identifier: Apache-2.0
// The few functions of cuBLAS that are used, loaded when first needed: the library is large, and a program that does without
// it should start without it.
#pragma once

#include <cublas_v2.h>

#include <string>

namespace shardboard::engine::cuda {

struct CublasFunctions {
    decltype(&cublasCreate_v2) create = nullptr;
    decltype(&cublasDestroy_v2) destroy = nullptr;
    decltype(&cublasSetStream_v2) setStream = nullptr;
    decltype(&cublasSetWorkspace_v2) setWorkspace = nullptr;
    decltype(&cublasSetMathMode) setMathMode = nullptr;
    // Of the products the names are overloaded in C++.
    cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k, const void* alpha,
                           const void* a, cudaDataType, int lda, const void* b, cudaDataType, int ldb, const void* beta, void* c,
                           cudaDataType, int ldc, cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
    cublasStatus_t (*gemmStrided)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k, const void* alpha,
                                  const void* a, cudaDataType, int lda, long long strideA, const void* b, cudaDataType, int ldb,
                                  long long strideB, const void* beta, void* c, cudaDataType, int ldc, long long strideC, int count,
                                  cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
    cublasStatus_t (*gemmPointers)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k, const void* alpha,
                                   const void* const a[], cudaDataType, int lda, const void* const b[], cudaDataType, int ldb,
                                   const void* beta, void* const c[], cudaDataType, int ldc, int count, cublasComputeType_t,
                                   cublasGemmAlgo_t) = nullptr;
};

/// Null with the reason in `missing` when it cannot be loaded.
const CublasFunctions* cublasFunctions(std::string& missing);

} // namespace shardboard::engine::cuda
