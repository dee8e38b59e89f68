# SPDX-License-Identifier: Apache-2.0
# What the engine can use on this machine. Everything here is optional: without it the engine falls back and says so.
#   SHARDBOARD_GEMM        onednn (link DNNL::dnnl), openblas (CBLAS_INCLUDE_DIR, CBLAS_LIBRARY) or plain
#   SHARDBOARD_MPI_FOUND   an MPI library with its headers (link MPI::MPI_CXX); switch it off with -DSHARDBOARD_MPI=OFF
#   SHARDBOARD_CUDA_FOUND  the CUDA language is there, or would be switched on by a first source below engine/cuda

# Matrix products on the CPU: oneDNN, else a CBLAS (OpenBLAS), else our own plain loops. oneDNN is looked for by its
# files: the package file of a distribution's build insists on OpenCL's headers, which neither dnnl.hpp nor we include.
set(SHARDBOARD_GEMM "plain")
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(DNNL_LIBRARY NAMES dnnl)
mark_as_advanced(DNNL_INCLUDE_DIR DNNL_LIBRARY)
if(DNNL_INCLUDE_DIR AND DNNL_LIBRARY)
    set(SHARDBOARD_GEMM "onednn")
    add_library(DNNL::dnnl UNKNOWN IMPORTED)
    set_target_properties(DNNL::dnnl PROPERTIES
        IMPORTED_LOCATION ${DNNL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR})
    find_package(OpenMP QUIET COMPONENTS CXX)
else()
    find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas)
    find_library(CBLAS_LIBRARY NAMES openblas)
    mark_as_advanced(CBLAS_INCLUDE_DIR CBLAS_LIBRARY)
    if(CBLAS_INCLUDE_DIR AND CBLAS_LIBRARY)
        set(SHARDBOARD_GEMM "openblas")
    endif()
endif()

# CUDA: asking for the compiler's name is quick; the language, which takes seconds, is only switched on for sources.
set(SHARDBOARD_CUDA_FOUND OFF)
if(SHARDBOARD_CUDA)
    find_program(SHARDBOARD_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
    mark_as_advanced(SHARDBOARD_NVCC)
    if(SHARDBOARD_NVCC)
        set(SHARDBOARD_CUDA_FOUND ON)
        file(GLOB SHARDBOARD_CUDA_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/engine/cuda/*.cu)
        if(SHARDBOARD_CUDA_SOURCES)
            set(CMAKE_CUDA_COMPILER ${SHARDBOARD_NVCC})
            set(CMAKE_CUDA_STANDARD 17) # the newest that CMake 3.25 knows for nvcc: keep kernels behind plain headers
            if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
                set(CMAKE_CUDA_ARCHITECTURES 80-real 90) # newer ones from the code for 90
            endif()
            enable_language(CUDA)
            find_package(CUDAToolkit REQUIRED)
        endif()
    endif()
endif()

# MPI: any with a wrapper compiler; what is tried out is the distribution's Open MPI. Asking takes a moment, so only where there
# is a wrapper.
option(SHARDBOARD_MPI "Build the mpi backend where an MPI library is found" ON)
set(SHARDBOARD_MPI_FOUND OFF)
find_program(SHARDBOARD_MPICXX NAMES mpicxx.openmpi mpicxx)
mark_as_advanced(SHARDBOARD_MPICXX)
if(SHARDBOARD_MPI AND SHARDBOARD_MPICXX)
    find_package(MPI QUIET COMPONENTS CXX)
    if(MPI_CXX_FOUND)
        set(SHARDBOARD_MPI_FOUND ON)
    endif()
endif()

# Detected for later backends; reported so that nobody wonders what a build can do.
find_library(NCCL_LIBRARY NAMES nccl HINTS ENV NCCL_HOME /usr/local/cuda PATH_SUFFIXES lib lib64)
mark_as_advanced(NCCL_LIBRARY)

set(optional_parts "")
foreach(part CUDA:SHARDBOARD_CUDA_FOUND NCCL:NCCL_LIBRARY MPI:SHARDBOARD_MPI_FOUND)
    string(REPLACE ":" ";" part ${part})
    list(GET part 0 name)
    list(GET part 1 variable)
    if(${variable})
        string(APPEND optional_parts "; ${name} found")
    else()
        string(APPEND optional_parts "; no ${name}")
    endif()
endforeach()
message(STATUS "Shardboard engine: matrix products by ${SHARDBOARD_GEMM}${optional_parts}")
