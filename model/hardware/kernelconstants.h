// SPDX-License-Identifier: Apache-2.0
// How near kernels come to what a device can do: the constants of model/cost/kerneltime.h. A value type; where the numbers of the
// built-in devices come from stands beside them, in model/hardware/devices*.cpp, and in the help (hardware.md).
#pragma once

#include <cstdint>
#include <optional>

namespace shardboard {

/// How a library of a CPU computes with operands that it copies into panels first ("packs"), which nothing hides:
///   seconds = launch + flops / (efficiency peak) + max(0, bytes - freeBytes) / bytesPerSecond
/// or, where that is less, without packing them, as it does for few rows:
///   seconds = launch + flops / (unpackedEfficiency peak) + (seconds of moving the bytes)
/// Fitted by `shardctl calibrate` (model/cost/calibration.h); performance 2.1 says of products on a GPU, too, that a sum fits as
/// well as the longer of both.
struct Packing {
    double bytesPerSecond = 0; ///< of the operands and the result, each once
    double freeBytes = 0; ///< what caches hold until it is computed with
    std::optional<double> unpackedEfficiency {}; ///< of the peak; nothing: it always packs
    friend bool operator==(const Packing&, const Packing&) = default;
};

/// What is not set here is the same for all devices: seconds = launch + max(flops / (efficiency peak), bytes / (memoryEfficiency
/// bandwidth)), fitted on GEMMs of an H100 (openxla/xla default_matmul_perf_table, bf16: mean error 5 %). Built-in devices and
/// calibrations replace them.
struct KernelConstants {
    double launchSeconds = 5.5e-6;
    /// Of a kernel in a recorded CUDA graph: 0.4 us less. 20 kernels of 2.9 us in a stream took 3.8 us each, in a graph 3.4
    /// (NVIDIA Technical Blog, "Getting Started with CUDA Graphs", 2019). Counts where it is less than launchSeconds.
    double graphLaunchSeconds = 5.1e-6;
    /// Of the host, for each kernel that is in no graph: what it starts one after the other takes at least that long. 0: it is
    /// never the host that a step waits for.
    double hostSeconds = 0;
    double gemmEfficiency = 0.78; ///< of products of 16-bit values that are deep
    std::optional<double> fp8Efficiency {}; ///< the same of fp8; nothing: as gemmEfficiency
    std::optional<double> fp4Efficiency {}; ///< nothing: as fp8
    /// The start and the end of a tile take as long as this many more elements of a 16-bit product's inner dim; of another type as
    /// many more as its peak is higher.
    double gemmDepth = 0;
    /// Side of the arrays of a TPU: the inner dim and one other are as good as padded to a multiple of it. 0: not padded.
    std::int64_t gemmArray = 0;
    /// Share of the clock of short runs that products hold for minutes under the power limit.
    double sustainedClock = 1;
    double memoryEfficiency = 0.80;
    double attentionEfficiency = 0.60; ///< forward, with heads of 128 and many keys; a usual one of fused kernels on Hopper
    std::optional<double> attentionBackwardEfficiency {}; ///< nothing: as forward
    /// Attention by FlashAttention-2, whose kernels use nothing that is newer than the A100; nothing: as attentionEfficiency. On
    /// the H100 it reaches 35 % (arXiv 2407.08608, abstract).
    std::optional<double> flash2Efficiency {};
    std::optional<double> flash2BackwardEfficiency {}; ///< nothing: as forward
    /// The softmax of a score takes as long as this many more elements of a head. Efficiencies are those of heads of 128.
    double attentionHead = 0;
    double attentionRamp = 0; ///< keys of which attention reaches half of its efficiency
    /// Nothing: what takes longer hides the other, as on a GPU.
    std::optional<Packing> gemmPacking {};
    std::optional<Packing> attentionPacking {};
    friend bool operator==(const KernelConstants&, const KernelConstants&) = default;
};

} // namespace shardboard
