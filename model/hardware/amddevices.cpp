// SPDX-License-Identifier: Apache-2.0
// AMD's GPUs. Peaks and bandwidths: AMD's data sheets. Products: MAMF (stas00/ml-engineering, compute/accelerator/README.md) has
// 668 TFLOP/s in bf16 on the MI300X, 785 on the MI325X and 1,565 on the MI355X; SemiAnalysis ("MI300X vs H100 vs H200 benchmark,
// part 1: training", 2024-12) 620 in bf16 and 990 in fp8 on shapes of language models. Attention by its forward and backward passes
// there is about half of the H100's share; nobody publishes it as a table.
#include "model/hardware/devicetables.h"

namespace shardboard {

using namespace devicetable;

namespace {

KernelConstants instinct(double bf16, std::optional<double> fp8)
{
    KernelConstants out;
    out.hostSeconds = 13.5e-6; // as on NVIDIA's: it is PyTorch's
    out.gemmEfficiency = bf16;
    out.fp8Efficiency = fp8;
    out.sustainedClock = 0.93; // 620 of 668
    out.attentionEfficiency = 0.35;
    out.attentionBackwardEfficiency = 0.25;
    out.attentionHead = 64;
    out.attentionRamp = 450;
    return out;
}

} // namespace

std::vector<DeviceSpec> amdDevices()
{
    const PeakFlops mi300 { tera(163.4), tera(653.7), tera(1307.4), tera(1307.4), tera(2614.9), kNone, tera(2614.9) };
    const Row rows[] {
        { "mi250x",
          "AMD Instinct MI250X, one of its two dies",
          { tera(47.9), kNone, tera(191.5), tera(191.5), kNone, kNone, tera(191.5) },
          gpuMemory(65520),
          tera(1.6384),
          instinct(0.60, {}),
          110,
          "AMD Instinct MI250X datasheet, half of 383 TFLOP/s, 128 GB and 3.2768 TB/s; memory by rocm-smi; products not measured" },
        { "mi300x", "AMD Instinct MI300X 192 GB", mi300, gpuMemory(196592), tera(5.3), instinct(0.51, 0.41), 304,
          "AMD Instinct MI300X datasheet; memory by rocm-smi (196592 MiB)" },
        { "mi325x", "AMD Instinct MI325X 256 GB", mi300, gpuMemory(262128), tera(6.0), instinct(0.60, 0.48), 304,
          "AMD Instinct MI325X datasheet; memory by rocm-smi (262128 MiB); fp8 in the MI300X's proportion" },
        { "mi355x",
          "AMD Instinct MI355X 288 GB",
          { tera(157.3), kNone, tera(2516.6), tera(2516.6), tera(5033.2), tera(10066.3), tera(5033.2) },
          gpuMemory(294896),
          tera(8.0),
          instinct(0.62, 0.50),
          256,
          "AMD Instinct MI355X datasheet; memory by rocm-smi (294896 MiB); fp8 in the MI300X's proportion" },
    };
    std::vector<DeviceSpec> out;
    for (const Row& row : rows)
        out.push_back(deviceOf(row));
    return out;
}

} // namespace shardboard
