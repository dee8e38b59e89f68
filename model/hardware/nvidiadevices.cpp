// SPDX-License-Identifier: Apache-2.0
// NVIDIA's GPUs. Peaks and bandwidths: NVIDIA's data sheets and architecture white papers.
//
// How near kernels come to them (MAMF: "Maximum achievable matmul FLOPS", stas00/ml-engineering, compute/accelerator/README.md, the
// best of many shapes; SemiAnalysis: "MI300X vs H100 vs H200 benchmark, part 1: training", 2024-12, shapes of language models):
// - The law of products by depth, on the H100: openxla/xla, xla/service/gpu/model/matmul_interpolator_data.h, bf16. Of
//   4 x 2048 x 4096 x k at k = 256, 1024, 2048, 4096 the table has 459, 689, 752 and 802 TFLOP/s: a straight line over k, which is
//   0.858 of the peak and starts as if k were 172 more. MAMF has 0.803.
// - In fp8 MAMF has 0.709 and 0.734 (H100, H200) at k = 12,000 to 14,000, 0.75 without what a depth of 344 takes.
// - Held clock: SemiAnalysis measured 720 TFLOP/s where the law says 800, and 1,280 in fp8 where it says 1,410.
// - B200: MAMF 0.776 at k = 3072, B300 0.786 at k = 1024 (a tile is written while the next one is made: little depth), fp8 0.763;
//   GB200, whose peak is that of a higher power limit, 0.729 and 0.723. On shapes of a 7B model 0.64 to 0.69, at 8192^3 0.74 (arXiv
//   2604.23466), where the law with full waves says 0.72 to 0.78: 0.93 of the clock. A GB300 may draw 1,400 W instead of 1,200 W;
//   power grows with the third power of the clock, so that it holds 1.05 of that.
// - A100: MAMF 0.869 (PCIe 0.811). Its tiles take longer, so that the same time is a depth of 85. No long run is published; the
// held
//   clock is that of the B200.
// - Attention on the H100: FlashAttention-3 (arXiv 2407.08608, figures 5 and 6). Heads of 128, 16,384 keys: cuDNN and
// FlashAttention-3
//   595 and 648 TFLOP/s forward, 516 and 561 backward; taken are 0.62 and 0.53 of the peak. Heads of 64: 413 and 497, three
//   quarters of that on average. In one series 286, 427, 537, 612 and 642 TFLOP/s at 512, 1,024, 2,048, 4,096 and 16,384 keys: half
//   at about 450. FlashAttention-2 there: 370 and 322, with a causal mask 0.36 and 0.32. On the A100 "50 to 73 %" (arXiv
//   2307.08691, abstract).
// - Attention on the B200: FlashAttention-4 reaches 1,613 TFLOP/s, at most 1.3 times cuDNN 9.13: 1,240. Backward it is limited
//   by shared memory, which has not become faster per clock (together.ai/blog/flashattention-4): taken is 0.82 of forward as on the
//   H100. Blackwell Ultra has twice the exponentials, which limit forward (NVIDIA Technical Blog, "Inside NVIDIA Blackwell Ultra").
// - The host: the forward pass of PyTorch's linear layer, one operation, takes it 13.5 us on a DGX H100 (Xeon 8480C), 33.2 on a
//   GH200 and 37.1 on a GB200 (TransformerEngine#2053, 2025-08). Layers of an operation's call add up to 6 to 15 (jiahuanglin.xyz,
//   "From PyTorch op to kernel launch").
// Others have no measurements of this kind; they have the constants of the nearest relative, as their source says.
#include "model/hardware/devicetables.h"

namespace shardboard {

using namespace devicetable;

namespace {

constexpr double kHost = 13.5e-6;
constexpr double kGh200Host = 33.2e-6;
constexpr double kGraceHost = 37.1e-6; // GB200, and GB300, whose host is the same

KernelConstants general()
{
    KernelConstants out;
    out.hostSeconds = kHost;
    return out;
}

KernelConstants ampere(double efficiency)
{
    KernelConstants out = general();
    out.gemmEfficiency = efficiency;
    out.gemmDepth = 85;
    out.sustainedClock = 0.93;
    out.attentionEfficiency = 0.65;
    out.attentionBackwardEfficiency = 0.58;
    out.attentionHead = 64;
    out.attentionRamp = 300;
    return out;
}

KernelConstants hopper(double sustained)
{
    KernelConstants out = general();
    out.gemmEfficiency = 0.858;
    out.fp8Efficiency = 0.75;
    out.gemmDepth = 172;
    out.sustainedClock = sustained;
    out.attentionEfficiency = 0.62;
    out.attentionBackwardEfficiency = 0.53;
    out.flash2Efficiency = 0.36;
    out.flash2BackwardEfficiency = 0.32;
    out.attentionHead = 64;
    out.attentionRamp = 450;
    return out;
}

struct BlackwellShares {
    double bf16, fp8; ///< of products
    double sustained;
    double attention, attentionBackward;
};

KernelConstants blackwell(const BlackwellShares& shares)
{
    KernelConstants out = general();
    out.gemmEfficiency = shares.bf16;
    out.fp8Efficiency = shares.fp8;
    out.gemmDepth = 32;
    out.sustainedClock = shares.sustained;
    out.attentionEfficiency = shares.attention;
    out.attentionBackwardEfficiency = shares.attentionBackward;
    out.attentionHead = 64;
    out.attentionRamp = 450;
    return out;
}

KernelConstants startedBy(double hostSeconds, KernelConstants kernels)
{
    kernels.hostSeconds = hostSeconds;
    return kernels;
}

/// Blackwell Ultra: nothing waits for exponentials any more.
KernelConstants ultra(const BlackwellShares& shares)
{
    KernelConstants out = blackwell(shares);
    out.attentionHead = 32;
    return out;
}

/// Cards with the instructions of the A100: FlashAttention-2 is what there is.
KernelConstants card(double sustained)
{
    KernelConstants out = ampere(0.87);
    out.sustainedClock = sustained;
    return out;
}

PeakFlops peaksOfA100() { return { tera(19.5), tera(156), tera(312), tera(312), kNone, kNone, tera(624) }; }
PeakFlops peaksOfH100() { return { tera(66.9), tera(494.7), tera(989.4), tera(989.4), tera(1978.9), kNone, tera(1978.9) }; }

} // namespace

std::vector<DeviceSpec> nvidiaDevices()
{
    const KernelConstants a100 = ampere(0.87);
    const KernelConstants h100 = hopper(0.90);
    const KernelConstants b200 = blackwell({ 0.79, 0.775, 0.93, 0.55, 0.45 });
    const KernelConstants gb200 = startedBy(kGraceHost, blackwell({ 0.735, 0.73, 0.93, 0.51, 0.42 }));
    const Row rows[] {
        { "a100-sxm-40", "NVIDIA A100 SXM4 40 GB", peaksOfA100(), gpuMemory(40960, 39.50), tera(1.555), a100, 108,
          "NVIDIA A100 datasheet us-nvidia-1758950-r4; memory by nvidia-smi (modal-labs/modal-client#2797) and PyTorch "
          "(TianheWu/CoSeR#10)" },
        { "a100-sxm-80", "NVIDIA A100 SXM4 80 GB", peaksOfA100(), gpuMemory(81920, 79.25), tera(2.039), a100, 108,
          "NVIDIA A100 datasheet; Calculon systems/a100_80g.json has 312 TFLOP/s, too; memory by nvidia-smi "
          "(modal-labs/modal-client#2797) and PyTorch (HiDream-ai/VAREdit#6)" },
        { "h100-sxm", "NVIDIA H100 SXM5 80 GB", peaksOfH100(), gpuMemory(81559, 79.11), tera(3.35), h100, 132,
          "NVIDIA H100 datasheet; modal.com/gpu-glossary/perf/memory-bandwidth; memory by nvidia-smi "
          "(modal-labs/modal-client#2797) and PyTorch (vllm-project/vllm#27508)" },
        { "h200-sxm", "NVIDIA H200 SXM5 141 GB", peaksOfH100(), gpuMemory(143771, 139.80), tera(4.8), h100, 132,
          "the die of the H100; bandwidth as in the MLPerf v4.1 system description H200-SXM-141GBx8; memory as nvidia-smi "
          "and PyTorch's out-of-memory messages print it in public logs (143771 MiB, 139.80 GiB)" },
        { "b200-sxm",
          "NVIDIA B200 SXM 180 GB",
          { tera(75), tera(1100), tera(2250), tera(2250), tera(4500), tera(9000), tera(4500) },
          gpuMemory(183359, 178.35),
          tera(8),
          b200,
          148,
          "modal.com/gpu-glossary/perf/memory-bandwidth; memory by nvidia-smi (NVIDIA/TensorRT-LLM#10278) and CUDA "
          "(pytorch/ao#4002); fp32 and tf32 are nominal, not verified" },
        { "gb200",
          "NVIDIA GB200, one GPU of a superchip",
          { tera(80), tera(1250), tera(2500), tera(2500), tera(5000), tera(10000), tera(5000) },
          gpuMemory(189471, 184.31),
          tera(8),
          gb200,
          148,
          "the rack's 180 and 360 PFLOP/s by 72 GPUs; memory as nvidia-smi and PyTorch's out-of-memory messages print it in "
          "public logs (189471 MiB, 184.31 GiB); fp32 and tf32 are nominal, not verified" },
        { "b300-sxm",
          "NVIDIA B300 SXM 288 GB",
          { tera(75), tera(1100), tera(2250), tera(2250), tera(4500), tera(13500), tera(150) },
          gpuMemory(275040),
          tera(8),
          ultra({ 0.79, 0.775, 0.93, 0.69, 0.45 }),
          148,
          "NVIDIA DGX B300: 72 PFLOP/s in fp8 with sparsity and 108 in fp4 without of eight; memory by nvidia-smi in public "
          "logs (B300 SXM6 AC, 275040 MiB); fp32, tf32 and int8 are nominal, not verified" },
        { "gb300",
          "NVIDIA GB300, one GPU of a superchip",
          { tera(80), tera(1250), tera(2500), tera(2500), tera(5000), tera(15000), tera(165) },
          gpuMemory(284208),
          tera(8),
          startedBy(kGraceHost, ultra({ 0.735, 0.73, 0.98, 0.64, 0.42 })),
          148,
          "nvidia.com/en-us/data-center/gb300-nvl72: 360 PFLOP/s in bf16 and 720 in fp8 with sparsity, 1,080 in fp4 without, of "
          "72; "
          "memory by nvidia-smi in public logs (GB300, 284208 MiB)" },
        { "gh200", "NVIDIA GH200 144 GB", peaksOfH100(), gpuMemory(147456), tera(4.9), startedBy(kGh200Host, hopper(0.95)), 132,
          "NVIDIA GH200 datasheet: 144 GB HBM3e at 4.9 TB/s; held clock by MAMF, 828.6 TFLOP/s at 900 W where the H100 has 794.5; "
          "memory as on the datasheet" },
        { "h20",
          "NVIDIA H20 96 GB",
          { tera(44), tera(74), tera(148), tera(148), tera(296), kNone, tera(296) },
          gpuMemory(97871),
          tera(4.0),
          hopper(1),
          78,
          "NVIDIA H20 product brief: 148 TFLOP/s in bf16, 296 in fp8, 96 GB at 4.0 TB/s; so few multiprocessors keep their clock; "
          "memory by nvidia-smi in public logs (97871 MiB)" },
        { "h100-nvl",
          "NVIDIA H100 NVL 94 GB",
          { tera(60), tera(417.5), tera(835), tera(835), tera(1671), kNone, tera(1671) },
          gpuMemory(95830),
          tera(3.938),
          hopper(0.90),
          132,
          "NVIDIA H100 datasheet, NVL: half of 1,671 and 3,341 TFLOP/s; memory by nvidia-smi (95830 MiB)" },
        { "h100-pcie",
          "NVIDIA H100 PCIe 80 GB",
          { tera(51), tera(378), tera(756), tera(756), tera(1513), kNone, tera(1513) },
          gpuMemory(81559),
          tera(2.0),
          hopper(0.80),
          114,
          "NVIDIA H100 PCIe product brief: half of 1,513 and 3,026 TFLOP/s, 2.0 TB/s, 350 W; its held clock follows the third "
          "root of half the H100's power, not measured" },
        { "a100-pcie-40", "NVIDIA A100 PCIe 40 GB", peaksOfA100(), gpuMemory(40960, 39.50), tera(1.555), ampere(0.81), 108,
          "NVIDIA A100 datasheet; products by MAMF (PCIe)" },
        { "a100-pcie-80", "NVIDIA A100 PCIe 80 GB", peaksOfA100(), gpuMemory(81920, 79.25), tera(1.935), ampere(0.81), 108,
          "NVIDIA A100 datasheet; products by MAMF (PCIe)" },
        { "v100-sxm-16",
          "NVIDIA V100 SXM2 16 GB",
          { tera(15.7), kNone, kNone, tera(125), kNone, kNone, kNone },
          gpuMemory(16160),
          giga(900),
          general(),
          80,
          "NVIDIA V100 datasheet; memory by nvidia-smi (16160 MiB); it has no bf16, which is priced as fp16; constants not "
          "measured" },
        { "v100-sxm-32",
          "NVIDIA V100 SXM2 32 GB",
          { tera(15.7), kNone, kNone, tera(125), kNone, kNone, kNone },
          gpuMemory(32510),
          giga(900),
          general(),
          80,
          "NVIDIA V100 datasheet; memory by nvidia-smi (32510 MiB); it has no bf16, which is priced as fp16; constants not "
          "measured" },
        { "l40s",
          "NVIDIA L40S 48 GB",
          { tera(91.6), tera(183), tera(362.05), tera(362.05), tera(733), kNone, tera(733) },
          gpuMemory(46068),
          giga(864),
          card(0.85),
          142,
          "NVIDIA L40S datasheet (362.05 and 733 without sparsity); memory by nvidia-smi (modal-labs/modal-client#2797); kernels "
          "as "
          "on the A100, clock at 350 W not measured" },
        { "l4",
          "NVIDIA L4 24 GB",
          { tera(30.3), tera(60), tera(121), tera(121), tera(242.5), kNone, tera(242.5) },
          gpuMemory(23034),
          giga(300),
          card(0.60),
          58,
          "NVIDIA L4 datasheet (half of the rates with sparsity); memory by nvidia-smi (modal-labs/modal-client#2797); kernels as "
          "on "
          "the A100, clock at 72 W not measured" },
        { "a10",
          "NVIDIA A10 24 GB",
          { tera(31.2), tera(62.5), tera(125), tera(125), kNone, kNone, tera(250) },
          gpuMemory(23028),
          giga(600),
          card(0.80),
          72,
          "NVIDIA A10 datasheet; memory by nvidia-smi (modal-labs/modal-client#2797); kernels as on the A100, clock at 150 W not "
          "measured" },
        { "rtx-3090",
          "NVIDIA GeForce RTX 3090 24 GB",
          { tera(35.6), tera(35.6), tera(71), tera(71), kNone, kNone, tera(284) },
          gpuMemory(24576),
          giga(936),
          card(0.95),
          82,
          "NVIDIA Ampere GA102 whitepaper (fp16 and bf16 with f32 sums); memory by nvidia-smi (24576 MiB); kernels as on the "
          "A100" },
        { "rtx-4090",
          "NVIDIA GeForce RTX 4090 24 GB",
          { tera(82.6), tera(82.6), tera(165.2), tera(165.2), tera(330.3), kNone, tera(660.6) },
          gpuMemory(24564),
          giga(1008),
          card(0.95),
          128,
          "NVIDIA Ada GPU architecture whitepaper (fp16, bf16 and fp8 with f32 sums); memory by nvidia-smi (24564 MiB); kernels as "
          "on "
          "the A100" },
        { "rtx-5090",
          "NVIDIA GeForce RTX 5090 32 GB",
          { tera(104.8), tera(104.8), tera(209.5), tera(209.5), tera(419), tera(1676), tera(838) },
          gpuMemory(32607),
          giga(1792),
          card(0.95),
          170,
          "NVIDIA RTX Blackwell GPU architecture whitepaper (fp16, bf16 and fp8 with f32 sums); memory by nvidia-smi (32607 MiB); "
          "kernels as on the A100" },
        { "rtx-6000-ada",
          "NVIDIA RTX 6000 Ada 48 GB",
          { tera(91.1), tera(182.1), tera(364.2), tera(364.2), tera(728.5), kNone, tera(728.5) },
          gpuMemory(49140),
          giga(960),
          card(0.85),
          142,
          "NVIDIA RTX 6000 Ada datasheet (1,457 TFLOP/s in fp8 with sparsity); memory by nvidia-smi (49140 MiB); kernels as on the "
          "A100, clock at 300 W not measured" },
        { "rtx-pro-6000",
          "NVIDIA RTX PRO 6000 Blackwell 96 GB",
          { tera(126), tera(251.9), tera(503.8), tera(503.8), tera(1007.6), tera(2015.2), tera(1007.6) },
          gpuMemory(97887),
          giga(1792),
          card(0.90),
          188,
          "NVIDIA RTX PRO Blackwell GPU architecture whitepaper (about 4,000 TFLOP/s in fp4 with sparsity); memory by nvidia-smi "
          "in "
          "public logs (97887 MiB); kernels as on the A100" },
        { "gb10",
          "NVIDIA GB10 (DGX Spark) 128 GB",
          { tera(31), tera(62), tera(125), tera(125), tera(250), tera(500), tera(250) },
          gpuMemory(122570),
          giga(273),
          card(0.90),
          48,
          "NVIDIA DGX Spark: 1 PFLOP/s in fp4 with sparsity, 128 GB at 273 GB/s, of which Linux shows 119.7 GiB; other types "
          "follow from fp4, not verified; kernels as on the A100" },
    };
    std::vector<DeviceSpec> out;
    for (const Row& row : rows)
        out.push_back(deviceOf(row));
    return out;
}

} // namespace shardboard
