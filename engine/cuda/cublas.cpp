// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/cublas.h"

#include <dlfcn.h>

namespace shardboard::engine::cuda {

namespace {

struct Loaded {
    CublasFunctions functions;
    std::string missing;
};

template <class Function>
void find(void* library, const char* name, Function& function, std::string& missing)
{
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr && missing.empty())
        missing = std::string("this cuBLAS has no ") + name;
}

Loaded load()
{
    Loaded out;
    const std::string versioned = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
    void* library = nullptr;
    for (const std::string& name : { versioned, std::string(SHARDBOARD_CUDA_LIBRARIES "/") + versioned }) {
        library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library != nullptr)
            break;
    }
    if (library == nullptr) {
        out.missing = "cuBLAS (" + versioned + ") is not installed where the loader finds it; add its folder to LD_LIBRARY_PATH";
        return out;
    }
    CublasFunctions& f = out.functions;
    find(library, "cublasCreate_v2", f.create, out.missing);
    find(library, "cublasDestroy_v2", f.destroy, out.missing);
    find(library, "cublasSetStream_v2", f.setStream, out.missing);
    find(library, "cublasSetWorkspace_v2", f.setWorkspace, out.missing);
    find(library, "cublasSetMathMode", f.setMathMode, out.missing);
    find(library, "cublasGemmEx", f.gemm, out.missing);
    find(library, "cublasGemmStridedBatchedEx", f.gemmStrided, out.missing);
    find(library, "cublasGemmBatchedEx", f.gemmPointers, out.missing);
    return out;
}

} // namespace

const CublasFunctions* cublasFunctions(std::string& missing)
{
    static const Loaded loaded = load();
    missing = loaded.missing;
    return loaded.missing.empty() ? &loaded.functions : nullptr;
}

} // namespace shardboard::engine::cuda
