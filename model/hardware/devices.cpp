// SPDX-License-Identifier: Apache-2.0
// The built-in devices. Peaks are dense: vendors often print the rate with 2:4 sparsity, which is twice as high.
#include "model/hardware/decimal.h"
#include "model/hardware/devicespec.h"

namespace shardboard {

namespace {

constexpr std::optional<double> kNone = std::nullopt;

PeakFlops ampere() { return { tera(19.5), tera(156), tera(312), tera(312), kNone, kNone, tera(624) }; }
PeakFlops hopper() { return { tera(66.9), tera(494.7), tera(989.4), tera(989.4), tera(1978.9), kNone, tera(1978.9) }; }

struct Rates {
    PeakFlops peak;
    double memoryBytes;
    double bytesPerSecond;
};

DeviceSpec device(const char* id, const char* name, DeviceKind kind, const Rates& rates, const char* source,
                  std::int64_t multiprocessors = 0)
{
    return { id, name, kind, rates.peak, rates.memoryBytes, rates.bytesPerSecond, {}, source, multiprocessors };
}

DeviceSpec hopperDevice(const char* id, const char* name, double bytes, double bytesPerSecond, const char* source)
{
    DeviceSpec out = device(id, name, DeviceKind::Gpu, { hopper(), bytes, bytesPerSecond }, source, 132);
    out.kernels.flash2Efficiency = 0.35; // arXiv 2407.08608
    return out;
}

std::vector<DeviceSpec> gpus()
{
    using enum DeviceKind;
    return {
        device("a100-sxm-40", "NVIDIA A100 SXM4 40 GB", Gpu, { ampere(), giga(40), tera(1.555) },
               "NVIDIA A100 datasheet us-nvidia-1758950-r4", 108),
        device("a100-sxm-80", "NVIDIA A100 SXM4 80 GB", Gpu, { ampere(), giga(80), tera(2.039) },
               "NVIDIA A100 datasheet; Calculon systems/a100_80g.json has 312 TFLOP/s, too", 108),
        hopperDevice("h100-sxm", "NVIDIA H100 SXM5 80 GB", giga(80), tera(3.35),
                     "NVIDIA H100 datasheet; modal.com/gpu-glossary/perf/memory-bandwidth"),
        hopperDevice("h200-sxm", "NVIDIA H200 SXM5 141 GB", giga(141), tera(4.8),
                     "the die of the H100; memory as in the MLPerf v4.1 system description H200-SXM-141GBx8"),
        device("b200-sxm", "NVIDIA B200 SXM 180 GB", Gpu,
               { { tera(75), tera(1100), tera(2250), tera(2250), tera(4500), tera(9000), tera(4500) }, giga(180), tera(8) },
               "modal.com/gpu-glossary/perf/memory-bandwidth; memory as in a DGX B200; fp32 and tf32 are nominal, not verified",
               148),
        device("gb200", "NVIDIA GB200, one GPU of a superchip", Gpu,
               { { tera(80), tera(1250), tera(2500), tera(2500), tera(5000), tera(10000), tera(5000) }, giga(186), tera(8) },
               "MLPerf inference v6.1 system description GB200-NVL72 (memory); the rack's 180 and 360 PFLOP/s by 72 GPUs; fp32 "
               "and tf32 are nominal, not verified",
               148),
    };
}

std::vector<DeviceSpec> others()
{
    using enum DeviceKind;
    return {
        device("tpu-v5e", "Google TPU v5e", Tpu,
               { { kNone, kNone, tera(197), kNone, kNone, kNone, tera(393) }, giga(16), giga(819) },
               "docs.cloud.google.com/tpu/docs/v6e (a later version says 800 GB/s); scaling-book tpus.md"),
        device("tpu-v5p", "Google TPU v5p", Tpu,
               { { kNone, kNone, tera(459), kNone, tera(459), kNone, tera(918) }, 102005473280.0, tera(2.765) },
               "docs.cloud.google.com/tpu/docs/tpu7x; scaling-book tpus.md"),
        device("tpu-v6e", "Google TPU v6e (Trillium)", Tpu,
               { { kNone, kNone, tera(918), kNone, tera(918), kNone, tera(1836) }, giga(32), tera(1.638) },
               "docs.cloud.google.com/tpu/docs/v6e and tpu7x, which say 1600 to 1640 GB/s"),
        device("tpu7x", "Google TPU7x (Ironwood)", Tpu,
               { { kNone, kNone, tera(2307), kNone, tera(4614), kNone, kNone }, 206158430208.0, tera(7.38) },
               "docs.cloud.google.com/tpu/docs/tpu7x"),
        device("cpu-dev-2core", "Two CPU cores with AVX-512", Cpu,
               { { tera(0.49), kNone, tera(1.0), kNone, kNone, kNone, kNone }, 24696061952.0, giga(39) },
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
        return all;
    }();
    return presets;
}

} // namespace shardboard
