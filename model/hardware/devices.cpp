// SPDX-License-Identifier: Apache-2.0
// The built-in devices. Peaks are dense: vendors often print the rate with 2:4 sparsity, which is twice as high. Memory is what the
// driver reports, not what the name says: `nvidia-smi` shows 81559 MiB (79.6 GiB) for an H100 of 80 GB. A program gets less, which
// PyTorch prints as the total capacity when it runs out; the rest is reserved. XLA prints for a TPU what a program gets.
#include "model/hardware/decimal.h"
#include "model/hardware/devicespec.h"

#include <cmath>

namespace shardboard {

namespace {

constexpr std::optional<double> kNone = std::nullopt;

PeakFlops ampere() { return { tera(19.5), tera(156), tera(312), tera(312), kNone, kNone, tera(624) }; }
PeakFlops hopper() { return { tera(66.9), tera(494.7), tera(989.4), tera(989.4), tera(1978.9), kNone, tera(1978.9) }; }

constexpr double mebi(double value) { return value * 1024 * 1024; }
constexpr double gibi(double value) { return mebi(value * 1024); }

struct Memory {
    double bytes;
    double reserved;
};

/// Of a GPU: what nvidia-smi reports, and what is left of it for programs.
constexpr Memory gpuMemory(double reportedMib, double capacityGib)
{
    return { mebi(reportedMib), mebi(reportedMib) - gibi(capacityGib) };
}

/// Of a TPU: the memory of the chip, and what XLA gives to programs.
constexpr Memory tpuMemory(double gib, double usableGib) { return { gibi(gib), gibi(gib - usableGib) }; }

struct Rates {
    PeakFlops peak;
    Memory memory;
    double bytesPerSecond;
};

DeviceSpec device(const char* id, const char* name, DeviceKind kind, const Rates& rates, const char* source,
                  std::int64_t multiprocessors = 0)
{
    const double reserved = mebi(std::round(rates.memory.reserved / mebi(1))); // known to a hundredth of a GiB
    return { id, name, kind, rates.peak, rates.memory.bytes, reserved, rates.bytesPerSecond, {}, source, multiprocessors };
}

DeviceSpec hopperDevice(const char* id, const char* name, Memory memory, double bytesPerSecond, const char* source)
{
    DeviceSpec out = device(id, name, DeviceKind::Gpu, { hopper(), memory, bytesPerSecond }, source, 132);
    out.kernels.flash2Efficiency = 0.35; // arXiv 2407.08608
    return out;
}

std::vector<DeviceSpec> gpus()
{
    using enum DeviceKind;
    return {
        device("a100-sxm-40", "NVIDIA A100 SXM4 40 GB", Gpu, { ampere(), gpuMemory(40960, 39.50), tera(1.555) },
               "NVIDIA A100 datasheet us-nvidia-1758950-r4; memory by nvidia-smi (modal-labs/modal-client#2797) and PyTorch "
               "(TianheWu/CoSeR#10)",
               108),
        device("a100-sxm-80", "NVIDIA A100 SXM4 80 GB", Gpu, { ampere(), gpuMemory(81920, 79.25), tera(2.039) },
               "NVIDIA A100 datasheet; Calculon systems/a100_80g.json has 312 TFLOP/s, too; memory by nvidia-smi "
               "(modal-labs/modal-client#2797) and PyTorch (HiDream-ai/VAREdit#6)",
               108),
        hopperDevice("h100-sxm", "NVIDIA H100 SXM5 80 GB", gpuMemory(81559, 79.11), tera(3.35),
                     "NVIDIA H100 datasheet; modal.com/gpu-glossary/perf/memory-bandwidth; memory by nvidia-smi "
                     "(modal-labs/modal-client#2797) and PyTorch (vllm-project/vllm#27508)"),
        hopperDevice(
            "h200-sxm", "NVIDIA H200 SXM5 141 GB", gpuMemory(143771, 139.80), tera(4.8),
            "the die of the H100; bandwidth as in the MLPerf v4.1 system description H200-SXM-141GBx8; memory as nvidia-smi "
            "and PyTorch's out-of-memory messages print it in public logs (143771 MiB, 139.80 GiB)"),
        device("b200-sxm", "NVIDIA B200 SXM 180 GB", Gpu,
               { { tera(75), tera(1100), tera(2250), tera(2250), tera(4500), tera(9000), tera(4500) },
                 gpuMemory(183359, 178.35),
                 tera(8) },
               "modal.com/gpu-glossary/perf/memory-bandwidth; memory by nvidia-smi (NVIDIA/TensorRT-LLM#10278) and CUDA "
               "(pytorch/ao#4002); fp32 and tf32 are nominal, not verified",
               148),
        device("gb200", "NVIDIA GB200, one GPU of a superchip", Gpu,
               { { tera(80), tera(1250), tera(2500), tera(2500), tera(5000), tera(10000), tera(5000) },
                 gpuMemory(189471, 184.31),
                 tera(8) },
               "the rack's 180 and 360 PFLOP/s by 72 GPUs; memory as nvidia-smi and PyTorch's out-of-memory messages print it in "
               "public logs (189471 MiB, 184.31 GiB); fp32 and tf32 are nominal, not verified",
               148),
    };
}

std::vector<DeviceSpec> others()
{
    using enum DeviceKind;
    return {
        device("tpu-v5e", "Google TPU v5e", Tpu,
               { { kNone, kNone, tera(197), kNone, kNone, kNone, tera(393) }, tpuMemory(16, 15.75), giga(819) },
               "docs.cloud.google.com/tpu/docs/v6e (a later version says 800 GB/s); scaling-book tpus.md; memory by XLA's "
               "out-of-memory messages in public logs (of 15.75G hbm)"),
        device("tpu-v5p", "Google TPU v5p", Tpu,
               { { kNone, kNone, tera(459), kNone, tera(459), kNone, tera(918) }, tpuMemory(96, 95.74), tera(2.765) },
               "docs.cloud.google.com/tpu/docs/tpu7x, which says 95 GiB; scaling-book tpus.md; memory by XLA's out-of-memory "
               "messages in public logs (of 95.74G hbm), so that the chip has 96 GiB"),
        device("tpu-v6e", "Google TPU v6e (Trillium)", Tpu,
               { { kNone, kNone, tera(918), kNone, tera(918), kNone, tera(1836) }, tpuMemory(32, 31.25), tera(1.638) },
               "docs.cloud.google.com/tpu/docs/v6e and tpu7x, which say 1600 to 1640 GB/s; memory by XLA's out-of-memory messages "
               "in public logs (of 31.25G hbm)"),
        device("tpu7x", "Google TPU7x (Ironwood)", Tpu,
               { { kNone, kNone, tera(2307), kNone, tera(4614), kNone, kNone }, tpuMemory(192, 189.5), tera(7.38) },
               "docs.cloud.google.com/tpu/docs/tpu7x; memory by XLA's out-of-memory messages in public logs (of 94.75G hbm for "
               "each of "
               "the two halves of a chip)"),
        device("cpu-dev-2core", "Two CPU cores with AVX-512", Cpu,
               { { tera(0.49), kNone, tera(1.0), kNone, kNone, kNone, kNone }, Memory { 24696061952.0, 0 }, giga(39) },
               "measured with oneDNN 2.6.3 on two cores of an AMD EPYC; memory by reading with AVX-512"),
    };
}

} // namespace

const std::vector<DeviceSpec>& devicePresets()
{
    static const std::vector<DeviceSpec> presets = [] {
        std::vector<DeviceSpec> all = gpus();
        for (DeviceSpec& it : others())
            all.push_back(std::move(it));
        for (DeviceSpec& it : all)
            it.host = knownHostLink(it.id);
        return all;
    }();
    return presets;
}

} // namespace shardboard
