# SPDX-License-Identifier: Apache-2.0
# What the engine can use on this machine. Everything here is optional: without it the engine falls back and says so.

# Matrix products on the CPU: oneDNN, else a CBLAS (OpenBLAS), else our own plain loops.
set(SHARDBOARD_GEMM "plain")
find_package(dnnl QUIET)
if(dnnl_FOUND)
    set(SHARDBOARD_GEMM "onednn")
    find_package(OpenMP QUIET COMPONENTS CXX)
else()
    find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas x86_64-linux-gnu aarch64-linux-gnu)
    find_library(CBLAS_LIBRARY NAMES openblas)
    if(CBLAS_INCLUDE_DIR AND CBLAS_LIBRARY)
        set(SHARDBOARD_GEMM "openblas")
    endif()
endif()

# Detected for later backends; reported so that nobody wonders what a build can do.
include(CheckLanguage)
set(SHARDBOARD_CUDA_FOUND OFF)
if(SHARDBOARD_CUDA)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        set(SHARDBOARD_CUDA_FOUND ON)
    endif()
endif()
find_library(NCCL_LIBRARY NAMES nccl HINTS /usr/local/cuda/lib64)
find_package(MPI QUIET COMPONENTS C)

message(STATUS "Shardboard engine: matrix products by ${SHARDBOARD_GEMM}; CUDA ${SHARDBOARD_CUDA_FOUND}; "
               "NCCL ${NCCL_LIBRARY}; MPI ${MPI_C_FOUND}")
