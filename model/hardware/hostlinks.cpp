// SPDX-License-Identifier: Apache-2.0
#include "model/hardware/devicetables.h"

#include <algorithm>
#include <array>

namespace shardboard {

namespace {

using devicetable::gibi;

struct KnownLink {
    std::string_view device;
    HostLink link;
};

// PCIe 4 x16 has 31.5 GB/s, of which copies of pinned memory reach 26, PCIe 5 x16 has 63 and 55.6 (nvbandwidth). A host's memory is
// its channels by the devices of the node:
//   DGX A100: two EPYC 7742, each 8 channels of DDR4-3200 (409.6 GB/s), for 8 GPUs.
//   DGX H100 and H200: two Xeon Platinum 8480C, each 8 channels of DDR5-4800 (614.4 GB/s), for 8.
//   DGX B200: two Xeon Platinum 8570, each 8 channels of DDR5-5600 (716.8 GB/s), for 8.
//   GB200: NVLink-C2C, 900 GB/s in both directions together, and the LPDDR5X of a Grace (512 GB/s, its product page), for 2 GPUs.
//     Nothing measured was found: the whole of both is taken.
//   GB300: the same Grace for 2 GPUs. GH200: one for one GPU; with 480 GB its memory has 384 GB/s (NVIDIA GH200 data sheet).
//   DGX-1 with V100: PCIe 3 x16, 15.75 GB/s, of which 12 are reached; two Xeon E5-2698 v4, each 76.8 GB/s (Intel ARK), for 8.
//   Cards with PCIe 5 of whose hosts nothing is known: the link alone; those with PCIe 4 have the one that is taken for all others.
//   TPUs: PCIe, about 15 GB/s to v5e and v5p, 32 to v6e (scaling-book tpus.md); nothing about the rate of their hosts' memory.
// How much memory a host has, by the devices of the node:
//   DGX H100, H200 and B200: 2 TB, the B200 with 32 modules (docs.nvidia.com/dgx-basepod, core components; DGX B200 user guide).
//   DGX A100: 2 TB with 80 GB GPUs, 1 TB with 40 GB ones (NVIDIA DGX A100 data sheet). DGX-1: 512 GB (NVIDIA DGX-1 data sheet).
//   GB200, GB300: 480 GB of LPDDR5X a Grace (NVIDIA, 17 TB for the 36 of an NVL72), for 2 GPUs. GH200: 480 GB (its data sheet).
//   TPU v5e: 512 GiB, v6e: 1,536 GiB for 8 chips (docs.cloud.google.com/tpu/docs/v5e and v6e, DRAM per host).
//   Of the others nothing is known.
constexpr std::array kLinks {
    KnownLink { "a100-sxm-40", { 26e9, 51.2e9, gibi(128) } },
    KnownLink { "a100-sxm-80", { 26e9, 51.2e9, gibi(256) } },
    KnownLink { "h100-sxm", { 55.6e9, 76.8e9, gibi(256) } },
    KnownLink { "h200-sxm", { 55.6e9, 76.8e9, gibi(256) } },
    KnownLink { "b200-sxm", { 55.6e9, 89.6e9, gibi(256) } },
    KnownLink { "gb200", { 225e9, 256e9, 240e9 } },
    KnownLink { "gb300", { 225e9, 256e9, 240e9 } },
    KnownLink { "gh200", { 450e9, 384e9, 480e9 } },
    KnownLink { "v100-sxm-16", { 12e9, 19.2e9, gibi(64) } },
    KnownLink { "v100-sxm-32", { 12e9, 19.2e9, gibi(64) } },
    KnownLink { "h100-pcie", { 55.6e9, 0 } },
    KnownLink { "h100-nvl", { 55.6e9, 0 } },
    KnownLink { "rtx-5090", { 55.6e9, 0 } },
    KnownLink { "rtx-pro-6000", { 55.6e9, 0 } },
    KnownLink { "mi300x", { 55.6e9, 0 } },
    KnownLink { "mi325x", { 55.6e9, 0 } },
    KnownLink { "tpu-v5e", { 15e9, 0, gibi(64) } },
    KnownLink { "tpu-v5p", { 15e9, 0 } },
    KnownLink { "tpu-v6e", { 32e9, 0, gibi(192) } },
};

} // namespace

std::optional<HostLink> knownHostLink(std::string_view device)
{
    const auto found = std::ranges::find_if(kLinks, [&](const KnownLink& it) { return it.device == device; });
    return found == kLinks.end() ? std::nullopt : std::optional(found->link);
}

HostLink hostLinkOf(const DeviceSpec& device)
{
    constexpr HostLink kSlow { 26e9, 51.2e9 };
    HostLink link = device.host.value_or(kSlow);
    if (link.memoryBytesPerSecond <= 0)
        link.memoryBytesPerSecond = kSlow.memoryBytesPerSecond;
    return link;
}

bool hasHostMemory(const DeviceSpec& device) { return device.kind == DeviceKind::Cpu || device.id == "gb10"; }

} // namespace shardboard
