// SPDX-License-Identifier: Apache-2.0
// The built-in hardware, put together from devices and links.
#include "model/hardware/hardware.h"

namespace shardboard {

namespace {

/// NVLink SHARP. An H100 reaches 480 GB/s of bus bandwidth over eight (NVIDIA/nccl-tests#212), GPUs of an NVL72 811;
/// NCCL's tuner has 25 us for its start, 0.85 and 0.74 for its efficiency.
constexpr InSwitchReduction kHopperSwitch { 25e-6, 0.83 };
constexpr InSwitchReduction kBlackwellSwitch { 25e-6, 0.74 };

/// InfiniBand's SHARP: 31 us in NCCL's tuner (collnet_direct, net); what its ports reach of their rate was not measured.
constexpr InSwitchReduction kSharp { 31e-6, 1 };

struct Names {
    const char* id;
    const char* name;
    const char* device;
    const char* source;
};

Hardware named(Hardware hardware, const Names& names)
{
    hardware.id = names.id;
    hardware.name = names.name;
    hardware.source = names.source;
    hardware.device = *findDevice(names.device);
    return hardware;
}

Hardware withSharp(Hardware hardware, const char* id, const char* name)
{
    hardware.id = id;
    hardware.name = name;
    hardware.source += "; SHARP as in NCCL v2.28.9-1 tuning.cc (NCCL_COLLNET_ENABLE=1), its rate assumed to be that of the ports";
    hardware.levels.back().inSwitch = kSharp;
    return hardware;
}

Hardware gpus(const Names& names, std::int64_t perNode, const char* inner, std::optional<InSwitchReduction> inSwitch,
              const char* network)
{
    Hardware out = named(twoLevelHardware(perNode, *findLink(inner), *findLink(network)), names);
    out.levels.front().inSwitch = inSwitch;
    return out;
}

Hardware dgxH100()
{
    return gpus(
        { "dgx-h100", "DGX H100 cluster: islands of 8 on NVLink 4, InfiniBand NDR", "h100-sxm",
          "NVIDIA DGX H100: 8 GPUs, NVSwitch 3, eight 400 Gb/s ports; torchtitan docs/performance.md has 400 Gb/s a GPU, too" },
        8, "nvlink4", kHopperSwitch, "ib-ndr");
}

Hardware tpus(const Names& names, std::vector<std::int64_t> shape, bool wraps, const char* link, const char* network)
{
    Hardware out = named(twoLevelHardware(1, *findLink(link), *findLink(network)), names);
    out.library = CollectiveLibrary::Any;
    Level& torus = out.levels.front();
    torus.fabric = Fabric::Torus;
    for (const std::int64_t extent : shape)
        torus.size *= extent;
    torus.wraps.assign(shape.size(), wraps);
    torus.shape = std::move(shape);
    out.levels.back().fabric = Fabric::Dcn;
    return out;
}

Hardware virtualMesh(const Names& names, const char* link)
{
    Hardware out = named({}, names);
    out.library = CollectiveLibrary::Any;
    Level memory;
    memory.fabric = Fabric::SharedMemory;
    memory.link = *findLink(link);
    out.levels.push_back(std::move(memory));
    return out;
}

std::vector<Hardware> clusters()
{
    return {
        dgxH100(),
        gpus({ "dgx-h200", "DGX H200 cluster: islands of 8 on NVLink 4, InfiniBand NDR", "h200-sxm",
               "MLPerf v4.1 system description H200-SXM-141GBx8" },
             8, "nvlink4", kHopperSwitch, "ib-ndr"),
        gpus({ "dgx-a100", "DGX A100 80 GB cluster: islands of 8 on NVLink 3, InfiniBand HDR", "a100-sxm-80",
               "NVIDIA DGX A100 user guide: 8 GPUs, NVSwitch, eight 200 Gb/s ports" },
             8, "nvlink3", std::nullopt, "ib-hdr"),
        gpus({ "dgx-b200", "DGX B200 cluster: islands of 8 on NVLink 5, InfiniBand NDR", "b200-sxm",
               "8 GPUs on NVLink 5, 400 Gb/s ports (NVIDIA/nccl-tests#389)" },
             8, "nvlink5", kBlackwellSwitch, "ib-ndr"),
        gpus({ "gb200-nvl72", "GB200 NVL72: 72 GPUs on NVLink 5, InfiniBand NDR", "gb200",
               "18 trays of 4 GPUs, one 400 Gb/s port a GPU: MLPerf v6.1 system description GB200-NVL72" },
             72, "nvlink5", kBlackwellSwitch, "ib-ndr"),
        withSharp(dgxH100(), "dgx-h100-sharp", "DGX H100 cluster whose InfiniBand switches sum (SHARP)"),
        tpus({ "tpu-v5e-pod", "TPU v5e pod, 16 x 16", "tpu-v5e",
               "scaling-book tpus.md; docs.cloud.google.com/tpu/docs/v6e; a dim closes to a ring where it has 16 chips" },
             { 16, 16 }, true, "ici-v5e", "dcn-v5e"),
        tpus({ "tpu-v5e-4x4", "TPU v5e slice, 4 x 4 without wraparound", "tpu-v5e", "scaling-book tpus.md" }, { 4, 4 }, false,
             "ici-v5e", "dcn-v5e"),
        tpus({ "tpu-v5p-4x4x4", "TPU v5p slice, 4 x 4 x 4", "tpu-v5p", "scaling-book tpus.md; dims of whole cubes close to rings" },
             { 4, 4, 4 }, true, "ici-v5p", "dcn-v5p"),
        tpus({ "tpu-v5p-pod", "TPU v5p pod, 16 x 20 x 28", "tpu-v5p", "scaling-book tpus.md: 8,960 chips" }, { 16, 20, 28 }, true,
             "ici-v5p", "dcn-v5p"),
        tpus({ "tpu-v6e-pod", "TPU v6e pod, 16 x 16", "tpu-v6e",
               "scaling-book tpus.md; docs.cloud.google.com/tpu/docs/v6e; a dim closes to a ring where it has 16 chips" },
             { 16, 16 }, true, "ici-v6e", "dcn-v6e-tpu7x"),
        tpus({ "tpu7x-4x4x4", "TPU7x slice, 4 x 4 x 4", "tpu7x", "docs.cloud.google.com/tpu/docs/tpu7x: 3-D torus like the v5p's" },
             { 4, 4, 4 }, true, "ici-tpu7x", "dcn-v6e-tpu7x"),
        virtualMesh({ "h200-virtual", "One H200 that simulates all devices", "h200-sxm",
                      "all devices share its rates, so runs take longer with more devices" },
                    "hbm-virtual-h200"),
        virtualMesh({ "cpu-virtual", "Two CPU cores that play all devices", "cpu-dev-2core",
                      "all devices share their rates, so runs take longer with more devices" },
                    "shm-cpu-dev"),
    };
}

/// What people have beside the large clusters: servers and workstations.
std::vector<Hardware> servers()
{
    constexpr auto kNoSums = std::nullopt;
    return {
        gpus({ "dgx-v100", "DGX-1 and DGX-2 class cluster: V100 on NVLink 2, 8 a node, half a port of 100 Gb/s each", "v100-sxm-32",
               "NVIDIA DGX-1 (V100): 8 GPUs on NVLink 2, four 100 Gb/s ports are half a port a GPU" },
             8, "nvlink2", kNoSums, "roce-50"),
        gpus({ "a100-pcie", "A100 80 GB PCIe, bridges between two, RoCE 100", "a100-pcie-80",
               "NVIDIA A100 PCIe product brief; the network is a usual one" },
             2, "nvlink-bridge", kNoSums, "roce-100"),
        gpus({ "hgx-a100-40", "A100 40 GB: islands of 8 on NVLink 3, InfiniBand HDR", "a100-sxm-40",
               "NVIDIA HGX A100 40 GB: NVSwitch, eight 200 Gb/s ports" },
             8, "nvlink3", kNoSums, "ib-hdr"),
        gpus({ "h100-pcie", "H100 80 GB PCIe: 8 on PCIe 5, RoCE 200", "h100-pcie",
               "NVIDIA H100 PCIe product brief; the network is a usual one" },
             8, "pcie5-x16", kNoSums, "roce-200"),
        gpus({ "h100-nvl", "H100 NVL: bridges between two, RoCE 400", "h100-nvl",
               "NVIDIA H100 NVL product brief; the network is a usual one" },
             2, "nvlink-bridge", kNoSums, "roce-400"),
        gpus({ "hgx-h100-roce", "HGX H100 cluster: islands of 8 on NVLink 4, RoCE 400", "h100-sxm",
               "NVIDIA HGX H100; 400 Gb/s Ethernet a GPU as in the Llama 3 cluster (arXiv 2407.21783, section 3.3.1)" },
             8, "nvlink4", kHopperSwitch, "roce-400"),
        gpus({ "p5-efa", "AWS p5: islands of 8 H100 on NVLink 4, EFA", "h100-sxm", "aws.amazon.com/ec2/instance-types/p5" }, 8,
             "nvlink4", kHopperSwitch, "efa-400"),
        gpus({ "hgx-h20", "HGX H20 cluster: islands of 8 on NVLink 4, InfiniBand NDR", "h20",
               "NVIDIA H20 product brief: 900 GB/s of NVLink; the network is the H100's" },
             8, "nvlink4", kHopperSwitch, "ib-ndr"),
        gpus({ "gh200", "GH200 cluster: superchips on InfiniBand NDR", "gh200",
               "NVIDIA GH200 datasheet; one 400 Gb/s port a superchip" },
             1, "nvlink4", kNoSums, "ib-ndr"),
        gpus({ "dgx-b300", "DGX B300 cluster: islands of 8 on NVLink 5, InfiniBand XDR", "b300-sxm",
               "NVIDIA DGX B300: 8 GPUs, eight 800 Gb/s ports" },
             8, "nvlink5", kBlackwellSwitch, "ib-xdr"),
        gpus({ "gb300-nvl72", "GB300 NVL72: 72 GPUs on NVLink 5, InfiniBand XDR", "gb300",
               "nvidia.com/en-us/data-center/gb300-nvl72: 800 Gb/s a GPU" },
             72, "nvlink5", kBlackwellSwitch, "ib-xdr"),
        gpus({ "l40s-server", "L40S: 8 on PCIe 4, RoCE 200", "l40s",
               "NVIDIA L40S datasheet: PCIe 4.0 x16; the network is a usual one" },
             8, "pcie4-x16", kNoSums, "roce-200"),
        gpus({ "l4-server", "L4: 8 on PCIe 4, Ethernet 25", "l4", "NVIDIA L4 datasheet: PCIe 4.0 x16; the network is a usual one" },
             8, "pcie4-x16", kNoSums, "ethernet-25"),
        gpus({ "a10-server", "A10: 4 on PCIe 4, Ethernet 25", "a10",
               "NVIDIA A10 datasheet: PCIe 4.0 x16; the network is a usual one" },
             4, "pcie4-x16", kNoSums, "ethernet-25"),
        gpus({ "rtx-3090", "RTX 3090 workstation: two on an NVLink bridge, Ethernet 10", "rtx-3090",
               "NVIDIA GA102 whitepaper; the network is a usual one" },
             2, "nvlink-bridge-3090", kNoSums, "ethernet-10"),
        gpus({ "rtx-4090", "RTX 4090 workstation: 4 on PCIe 4, Ethernet 10", "rtx-4090",
               "NVIDIA Ada whitepaper: PCIe 4.0 x16, no NVLink; the network is a usual one" },
             4, "pcie4-x16", kNoSums, "ethernet-10"),
        gpus({ "rtx-5090", "RTX 5090 workstation: 4 on PCIe 5, Ethernet 10", "rtx-5090",
               "NVIDIA RTX Blackwell whitepaper: PCIe 5.0 x16, no NVLink; the network is a usual one" },
             4, "pcie5-x16", kNoSums, "ethernet-10"),
        gpus({ "rtx-6000-ada", "RTX 6000 Ada workstation: 4 on PCIe 4, Ethernet 25", "rtx-6000-ada",
               "NVIDIA RTX 6000 Ada datasheet: PCIe 4.0 x16, no NVLink; the network is a usual one" },
             4, "pcie4-x16", kNoSums, "ethernet-25"),
        gpus({ "rtx-pro-6000", "RTX PRO 6000 Blackwell server: 8 on PCIe 5, RoCE 400", "rtx-pro-6000",
               "NVIDIA RTX PRO 6000 Blackwell Server Edition: PCIe 5.0 x16; NVIDIA RTX PRO servers have 400 Gb/s a GPU" },
             8, "pcie5-x16", kNoSums, "roce-400"),
        gpus({ "dgx-spark", "DGX Spark, joined by ConnectX-7", "gb10", "NVIDIA DGX Spark: one GB10 each, a 200 Gb/s port" }, 1,
             "pcie5-x16", kNoSums, "roce-200"),
        gpus({ "mi250x", "MI250X node: 8 dies on Infinity Fabric, RoCE 200", "mi250x",
               "AMD Instinct MI250X; four 200 Gb/s ports of a Frontier node (docs.olcf.ornl.gov) are half a port a die" },
             8, "xgmi-mi250x", kNoSums, "roce-100"),
        gpus({ "mi300x", "MI300X cluster: 8 on Infinity Fabric, RoCE 400", "mi300x",
               "AMD Instinct MI300X platform; 400 Gb/s a GPU" },
             8, "xgmi-mi300x", kNoSums, "roce-400"),
        gpus({ "mi325x", "MI325X cluster: 8 on Infinity Fabric, RoCE 400", "mi325x",
               "AMD Instinct MI325X platform; 400 Gb/s a GPU" },
             8, "xgmi-mi300x", kNoSums, "roce-400"),
        gpus({ "mi355x", "MI355X cluster: 8 on Infinity Fabric, RoCE 400", "mi355x",
               "AMD Instinct MI355X platform; 400 Gb/s a GPU" },
             8, "xgmi-mi355x", kNoSums, "roce-400"),
        tpus({ "tpu-v4-pod", "TPU v4 pod, 16 x 16 x 16", "tpu-v4",
               "docs.cloud.google.com/tpu/docs/v4: 4,096 chips; scaling-book tpus.md" },
             { 16, 16, 16 }, true, "ici-v4", "dcn-v4"),
        tpus({ "trn2", "Trn2 instance: 16 Trainium2, 4 x 4, EFA", "trainium2",
               "AWS Neuron documentation, Trn2 architecture: a 2-D torus of 16 chips" },
             { 4, 4 }, true, "neuronlink3", "efa-trn2"),
    };
}

} // namespace

const std::vector<Hardware>& hardwarePresets()
{
    static const std::vector<Hardware> presets = [] {
        std::vector<Hardware> all = clusters();
        std::vector<Hardware> more = servers();
        all.insert(all.end() - 2, more.begin(), more.end()); // the virtual meshes stay last
        return all;
    }();
    return presets;
}

} // namespace shardboard
