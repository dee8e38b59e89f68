// SPDX-License-Identifier: Apache-2.0
// Every kernel is the same few lines around a body: blocks of kAll threads, whose lanes share an item; along the grid's first
// dim the items, along its second the entries of the table.
#include "engine/cuda/kernels.h"

#include <cuda_runtime.h>

namespace shardboard::engine::cuda {

namespace {

struct AddOf {
    template <class T>
    SHARDBOARD_BOTH T operator()(T a, T b) const
    {
        return a + b;
    }
};
struct HighestOf {
    SHARDBOARD_BOTH float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct BetterOf {
    SHARDBOARD_BOTH Best operator()(const Best& a, const Best& b) const { return betterOf(a, b); }
};

#ifdef __CUDA_ARCH__
template <class T>
__device__ T exchanged(const T& value, int distance)
{
    return __shfl_xor_sync(0xffffffffu, value, distance);
}
template <>
__device__ Best exchanged<Best>(const Best& value, int distance)
{
    return { __shfl_xor_sync(0xffffffffu, value.value, distance), __shfl_xor_sync(0xffffffffu, value.index, distance) };
}
#endif

/// N threads of a block, which is kAll: all of them, or those of a warp.
template <int N>
class DeviceLanes : public PackedLanes {
public:
    using Sum = float;

    SHARDBOARD_BOTH int lane() const
    {
#ifdef __CUDA_ARCH__
        return static_cast<int>(threadIdx.x) % N;
#else
        return 0;
#endif
    }
    SHARDBOARD_BOTH int count() const { return N; }
    SHARDBOARD_BOTH float sum(float value) const { return reduced(value, AddOf()); }
    SHARDBOARD_BOTH double sumOfDoubles(double value) const { return reduced(value, AddOf()); }
    SHARDBOARD_BOTH float highest(float value) const { return reduced(value, HighestOf()); }
    SHARDBOARD_BOTH Best best(const Best& mine) const { return reduced(mine, BetterOf()); }
    SHARDBOARD_BOTH void hostBarrier() const
    {
#ifdef __CUDA_ARCH__
        if constexpr (N > kWarp)
            __syncthreads();
        else
            __syncwarp();
#endif
    }

private:
    template <class T, class Op>
    SHARDBOARD_BOTH T reduced(T value, Op op) const
    {
#ifdef __CUDA_ARCH__
        for (int distance = kWarp / 2; distance > 0; distance /= 2)
            value = op(value, exchanged(value, distance));
        if constexpr (N > kWarp) {
            constexpr int kWarps = N / kWarp;
            __shared__ alignas(16) unsigned char room[kWarps * sizeof(T)];
            T* const ofWarps = reinterpret_cast<T*>(room);
            __syncthreads(); // whoever reads what was there before is done
            if (threadIdx.x % kWarp == 0)
                ofWarps[threadIdx.x / kWarp] = value;
            __syncthreads();
            value = ofWarps[threadIdx.x % kWarps];
            for (int distance = kWarps / 2; distance > 0; distance /= 2)
                value = op(value, exchanged(value, distance));
        }
        return value;
#else
        (void)op;
        return value;
#endif
    }
};

template <class Body>
__global__ void __launch_bounds__(kAll) kernelOf(const __grid_constant__ Body body, std::int64_t items, std::int64_t firstEntry)
{
    constexpr int kItems = kAll / Body::kLanes; // of a block
    const std::int64_t item = std::int64_t { blockIdx.x } * kItems + static_cast<int>(threadIdx.x) / Body::kLanes;
    if (item < items)
        body(DeviceLanes<Body::kLanes>(), item, firstEntry + blockIdx.y);
}

template <class Body>
void launchBody(CUstream_st* stream, const Body& body, const Grid& grid)
{
    constexpr std::int64_t kMostEntries = 65535;
    constexpr std::int64_t kMostBlocks = 2147483647;
    const std::int64_t perBlock = kAll / Body::kLanes;
    if (grid.items <= 0 || (grid.items + perBlock - 1) / perBlock > kMostBlocks)
        return; // an item is at least 8 KiB of some tensor, or a row: so many have no room on a GPU
    const auto blocks = static_cast<unsigned>((grid.items + perBlock - 1) / perBlock);
    for (std::int64_t first = 0; first < grid.entries; first += kMostEntries) {
        const auto entries = static_cast<unsigned>(smaller(kMostEntries, grid.entries - first));
        kernelOf<<<dim3(blocks, entries), kAll, 0, stream>>>(body, grid.items, grid.firstEntry + first);
    }
}

__global__ void gateKernel(const volatile unsigned* flag, unsigned value, long long mostCycles)
{
    const long long start = clock64();
    while (*flag != value && clock64() - start < mostCycles) { }
}

} // namespace

#define SHARDBOARD_CUDA_LAUNCH(Body)                                                                                               \
    void launchOn(CUstream_st* stream, const Body& body, const Grid& grid) { launchBody(stream, body, grid); }
SHARDBOARD_CUDA_BODIES(SHARDBOARD_CUDA_LAUNCH)
#undef SHARDBOARD_CUDA_LAUNCH

void launchGate(CUstream_st* stream, const volatile unsigned* flag, unsigned value, long long mostCycles)
{
    gateKernel<<<1, 1, 0, stream>>>(flag, value, mostCycles);
}

const char* kernelError()
{
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, gateKernel);
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

} // namespace shardboard::engine::cuda
