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

} // namespace

const std::vector<Hardware>& hardwarePresets()
{
    static const std::vector<Hardware> presets {
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
    return presets;
}

} // namespace shardboard
