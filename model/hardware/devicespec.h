// SPDX-License-Identifier: Apache-2.0
// What one device can do. Rates are decimal (bytes/s, FLOP/s with a multiply-add as 2), times seconds.
#pragma once

#include "model/core/tensor.h"
#include "model/hardware/cacherate.h"
#include "model/hardware/hostlink.h"
#include "model/hardware/kernelconstants.h"
#include "model/hardware/measuredop.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// Accelerator: another one, such as Trainium, of which neither what holds of CUDA nor what was published of GPUs and TPUs is said.
enum class DeviceKind { Gpu, Tpu, Cpu, Accelerator };
std::string deviceKindName(DeviceKind kind); ///< gpu, tpu, cpu, accelerator
std::optional<DeviceKind> deviceKindFromName(std::string_view name);

/// Dense FLOP/s by element type; nothing where the device has none or none is published.
struct PeakFlops {
    std::optional<double> fp32 {};
    std::optional<double> tf32 {};
    std::optional<double> bf16 {};
    std::optional<double> fp16 {};
    std::optional<double> fp8 {};
    std::optional<double> fp4 {};
    std::optional<double> int8 {};
    friend bool operator==(const PeakFlops&, const PeakFlops&) = default;
};

/// Calls `each(name, value)` for every type, in order: for files, checks and tables.
template <class Peaks, class Each>
void visitPeaks(Peaks& peaks, Each each)
{
    each("fp32", peaks.fp32);
    each("tf32", peaks.tf32);
    each("bf16", peaks.bf16);
    each("fp16", peaks.fp16);
    each("fp8", peaks.fp8);
    each("fp4", peaks.fp4);
    each("int8", peaks.int8);
}

struct DeviceSpec {
    std::string id; ///< `h100-sxm`
    std::string name; ///< `NVIDIA H100 SXM5 80 GB`
    DeviceKind kind = DeviceKind::Gpu;
    PeakFlops peak;
    double memoryBytes = 0; ///< as the driver reports it
    /// Part of it that no program gets: what the driver, or XLA on a TPU, keeps for itself. A process's own context and the buffers
    /// of its communicators come on top (MemorySettings).
    double reservedBytes = 0;
    double memoryBytesPerSecond = 0;
    KernelConstants kernels;
    std::string source; ///< where the numbers come from
    std::int64_t multiprocessors = 0; ///< that make one tile of a matrix product each; 0: not known, or one large array
    std::optional<CacheRate> cache {}; ///< for kernels that only move data; nothing: all at memoryBytesPerSecond
    std::optional<HostLink> host {}; ///< for what is offloaded; nothing: hostLinkOf() has a usual one
    std::vector<MeasuredOp> measured {}; ///< operations whose times are the law's by a factor; each once

    /// Dense peak for operands of this type. A type without units of its own is worked on in the next wider one that has
    /// some; float32 without any counts as six bf16 passes.
    double peakFlops(DType type) const;
    friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

/// All built-in devices.
const std::vector<DeviceSpec>& devicePresets();
const DeviceSpec* findDevice(std::string_view id); ///< null when unknown
/// The built-in device of this id, or the first of its family: `h100-500w` is an H100. Null when there is none.
const DeviceSpec* findDeviceFamily(std::string_view id);

} // namespace shardboard
