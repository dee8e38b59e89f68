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

double kernelSeconds(const KernelWork& work, const Hardware& hardware)
{
    if (work.kernel == KernelClass::None)
        return 0;
    const KernelConstants& kernels = hardware.device.kernels;
    const double memory = work.bytes / (kernels.memoryEfficiency * hardware.memoryBytesPerSecond());
    double rate = hardware.peakFlops(work.dtype);
    switch (work.kernel) {
    case KernelClass::Gemm:
        rate *= kernels.gemmEfficiency * waveShare(work.gemm, hardware.device.multiprocessors);
        break;
    case KernelClass::Attention:
        rate *= work.flash2 ? kernels.flash2Efficiency.value_or(kernels.attentionEfficiency) : kernels.attentionEfficiency;
        break;
    case KernelClass::UnfusedAttention:
        rate *= kernels.gemmEfficiency;
        break;
    default:
        return work.launches * kernels.launchSeconds + memory;
    }
    return work.launches * kernels.launchSeconds + std::max(work.flops / rate, memory)
        + work.between / (kernels.memoryEfficiency * hardware.memoryBytesPerSecond());
}

} // namespace shardboard
