// SPDX-License-Identifier: Apache-2.0
#include "model/cost/kerneltime.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

double waveShare(const GemmDims& gemm, std::int64_t multiprocessors)
{
    if (multiprocessors <= 0)
        return 1;
    // Not rounded up for each dim: FLOPs are not either, and a product would take less time with one row more.
    const double tiles = gemm.b * (gemm.m / 128) * (gemm.n / 256);
    const double waves = tiles / static_cast<double>(multiprocessors);
    return waves <= 1 ? 1 : waves / std::ceil(waves);
}

double memorySeconds(double bytes, const DeviceSpec& device)
{
    const double rate = device.kernels.memoryEfficiency * device.memoryBytesPerSecond;
    return device.cache ? device.cache->seconds(bytes, rate) : bytes / rate;
}

double packedSeconds(const Packing& packing, double flops, double computeSeconds, double bytes, DType dtype,
                     const DeviceSpec& device)
{
    const double packed = computeSeconds + std::max(0.0, bytes - packing.freeBytes) / packing.bytesPerSecond;
    if (!packing.unpackedEfficiency)
        return packed;
    return std::min(packed, flops / (*packing.unpackedEfficiency * device.peakFlops(dtype)) + memorySeconds(bytes, device));
}

double kernelSeconds(const KernelWork& work, const Hardware& hardware)
{
    if (work.kernel == KernelClass::None)
        return 0;
    if (work.onHost) {
        const double rate = hostLinkOf(hardware.device).memoryBytesPerSecond;
        return rate > 0 ? work.bytes / rate : 0;
    }
    const KernelConstants& kernels = hardware.device.kernels;
    // CUDA's, which no other devices have.
    const bool inGraph = work.inGraph && hardware.device.kind == DeviceKind::Gpu;
    const double launches =
        work.launches * (inGraph ? std::min(kernels.launchSeconds, kernels.graphLaunchSeconds) : kernels.launchSeconds);
    const double memory = memorySeconds(work.bytes, hardware.device);
    const std::optional<Packing>* packing = nullptr;
    double rate = hardware.peakFlops(work.dtype);
    switch (work.kernel) {
    case KernelClass::Gemm:
        rate *= kernels.gemmEfficiency * waveShare(work.gemm, hardware.device.multiprocessors);
        packing = &kernels.gemmPacking;
        break;
    case KernelClass::Attention:
        rate *= work.flash2 ? kernels.flash2Efficiency.value_or(kernels.attentionEfficiency) : kernels.attentionEfficiency;
        packing = &kernels.attentionPacking;
        break;
    case KernelClass::UnfusedAttention:
        rate *= kernels.gemmEfficiency;
        break;
    default:
        return launches + memory;
    }
    const double between = memorySeconds(work.between, hardware.device);
    if (packing == nullptr || !*packing)
        return launches + std::max(work.flops / rate, memory) + between;
    return launches + packedSeconds(**packing, work.flops, work.flops / rate, work.bytes, work.dtype, hardware.device) + between;
}

} // namespace shardboard
