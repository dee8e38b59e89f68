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

double paddedShare(const GemmDims& gemm, std::int64_t side)
{
    if (side <= 0 || gemm.b <= 0)
        return 1;
    const auto share = [&](double extent) {
        const auto step = static_cast<double>(side);
        return extent / (std::ceil(extent / step) * step);
    };
    return share(gemm.k) * std::max(share(gemm.m), share(gemm.n));
}

double gemmRate(const KernelWork& work, const DeviceSpec& device)
{
    const KernelConstants& kernels = device.kernels;
    const double peak = device.peakFlops(work.dtype);
    double efficiency = kernels.gemmEfficiency;
    if (const int bits = bitsOf(work.dtype); bits <= 8) {
        efficiency = kernels.fp8Efficiency.value_or(efficiency);
        efficiency = bits <= 4 ? kernels.fp4Efficiency.value_or(efficiency) : efficiency;
    }
    double rate = peak * efficiency * kernels.sustainedClock;
    rate *= kernels.gemmArray > 0 ? paddedShare(work.gemm, kernels.gemmArray) : waveShare(work.gemm, device.multiprocessors);
    if (kernels.gemmDepth > 0 && work.gemm.k > 0)
        rate *= work.gemm.k / (work.gemm.k + kernels.gemmDepth * peak / device.peakFlops(DType::BF16));
    return rate;
}

double attentionRate(const KernelWork& work, const DeviceSpec& device)
{
    const KernelConstants& kernels = device.kernels;
    double efficiency = kernels.attentionEfficiency;
    if (work.backward)
        efficiency = kernels.attentionBackwardEfficiency.value_or(efficiency);
    if (work.flash2 && kernels.flash2Efficiency)
        efficiency =
            work.backward ? kernels.flash2BackwardEfficiency.value_or(*kernels.flash2Efficiency) : *kernels.flash2Efficiency;
    constexpr double kUsualHead = 128;
    if (work.headDim > 0)
        efficiency *= work.headDim / (work.headDim + kernels.attentionHead) * (kUsualHead + kernels.attentionHead) / kUsualHead;
    if (work.keys > 0)
        efficiency *= work.keys / (work.keys + kernels.attentionRamp);
    return device.peakFlops(work.dtype) * std::min(1.0, efficiency);
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

namespace {

/// Without what the host may take longer for.
double deviceSeconds(const KernelWork& work, const Hardware& hardware)
{
    if (work.onHost) {
        return work.bytes / hostLinkOf(hardware.device).memoryBytesPerSecond;
    }
    const KernelConstants& kernels = hardware.device.kernels;
    // CUDA's, which no other devices have.
    const bool inGraph = work.inGraph && hardware.device.kind == DeviceKind::Gpu;
    const double launches =
        work.launches * (inGraph ? std::min(kernels.launchSeconds, kernels.graphLaunchSeconds) : kernels.launchSeconds);
    const double memory = memorySeconds(work.bytes, hardware.device);
    const std::optional<Packing>* packing = nullptr;
    double rate = 0;
    switch (work.kernel) {
    case KernelClass::Gemm:
        rate = gemmRate(work, hardware.device);
        packing = &kernels.gemmPacking;
        break;
    case KernelClass::Attention:
        rate = attentionRate(work, hardware.device);
        packing = &kernels.attentionPacking;
        break;
    case KernelClass::UnfusedAttention:
        rate = hardware.peakFlops(work.dtype) * kernels.gemmEfficiency * kernels.sustainedClock;
        break;
    default:
        return launches + memory;
    }
    const double between = memorySeconds(work.between, hardware.device);
    if (packing == nullptr || !*packing)
        return launches + std::max(work.flops / rate, memory) + between;
    return launches + packedSeconds(**packing, work.flops, work.flops / rate, work.bytes, work.dtype, hardware.device) + between;
}

} // namespace

std::array<double, 3> measuredSize(const KernelWork& work)
{
    const auto logOf = [](double value) { return value > 1 ? std::log(value) : 0; };
    if (work.gemm.b > 0)
        return { logOf(work.gemm.b * work.gemm.m), logOf(work.gemm.n), logOf(work.gemm.k) };
    return { logOf(work.kernel == KernelClass::None ? work.copied : work.bytes), logOf(work.flops), logOf(work.keys) };
}

double lawSeconds(const KernelWork& work, const Hardware& hardware)
{
    if (work.kernel == KernelClass::None)
        return hardware.device.kernels.launchSeconds + memorySeconds(work.copied, hardware.device);
    return deviceSeconds(work, hardware);
}

double kernelSeconds(const KernelWork& work, const Hardware& hardware)
{
    const std::vector<MeasuredOp>& measured = hardware.device.measured;
    const MeasuredOp* op = measured.empty() || work.onHost ? nullptr : findMeasured(measured, work.op);
    if (work.kernel == KernelClass::None && op == nullptr)
        return 0;
    const double law = lawSeconds(work, hardware);
    return op == nullptr ? law : law * op->factorAt(measuredSize(work));
}

double hostSeconds(const KernelWork& work, const KernelConstants& kernels)
{
    if (work.kernel == KernelClass::None)
        return 0;
    return work.inGraph ? 0 : kernels.hostSeconds * (work.launches + work.hostCalls);
}

} // namespace shardboard
