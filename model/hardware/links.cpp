// SPDX-License-Identifier: Apache-2.0
// The built-in links. Steps of NVLink, PCIe and InfiniBand are those of NCCL's tuner (v2.28.9-1 tuning.cc, ring). What a
// collective costs before its first step, what its own block costs and a message of an all-to-all were fitted on the
// times of 2, 4 and 8 H100 that meta-pytorch/autoparallel publishes (nccl_cost_model.py) and are taken for all of them.
#include "model/hardware/decimal.h"
#include "model/hardware/linkspec.h"

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

constexpr double kStart = 5.2e-6;
constexpr double kMessage = 6.4e-6;
constexpr double kOwnBlock = 0.362;

/// Steps of NCCL's ring, in microseconds, by protocol.
struct RingSteps {
    double ll;
    double ll128;
    double simple;
};

LinkSpec ncclLink(const char* id, const char* name, RingSteps steps, double peak, double rate, std::string source)
{
    LinkSpec link;
    link.id = id;
    link.name = name;
    link.alphaSeconds = micro(steps.ll);
    link.alphaLl128 = micro(steps.ll128);
    link.alphaSimple = micro(steps.simple);
    link.peakBytesPerSecond = giga(peak);
    link.bytesPerSecond = giga(rate);
    link.startSeconds = kStart;
    link.source = std::move(source) + "; steps: NCCL tuning.cc";
    return link;
}

LinkSpec pcie(const char* id, const char* name, double peak, double rate, const char* source)
{
    return ncclLink(id, name, { 1.0, 2.5, 5.7 }, peak, rate, source);
}

LinkSpec nvlink(const char* id, const char* name, double peak, double rate, int links, const char* source)
{
    LinkSpec link = ncclLink(id, name, { 0.6, 1.9, 3.4 }, peak, rate, source);
    link.messageSeconds = kMessage;
    link.ownBlock = kOwnBlock;
    link.linksPerDevice = links;
    return link;
}

LinkSpec infiniband(const char* id, const char* name, double peak, double rate)
{
    LinkSpec link = ncclLink(id, name, { 2.7, 4.0, 14 }, peak, rate, "line rate; NCCL topo.h counts 12 GB/s for 100 Gb/s");
    link.messageSeconds = kMessage;
    link.source += " (2.7 µs in PyTorch DTensor, too)";
    return link;
}

/// Ports of Ethernet: NCCL's tuner knows them as a network like InfiniBand.
LinkSpec ethernet(const char* id, const char* name, double peak, double rate, const char* source)
{
    LinkSpec link = ncclLink(id, name, { 2.7, 4.0, 14 }, peak, rate, source);
    link.messageSeconds = kMessage;
    return link;
}

/// Links of AMD's boards from each GPU to every other one; RCCL's tuner has NCCL's steps.
LinkSpec xgmi(const char* id, const char* name, double peak, double rate, int links, const char* source)
{
    LinkSpec link = ncclLink(id, name, { 0.6, 1.9, 3.4 }, peak, rate, source);
    link.messageSeconds = kMessage;
    link.linksPerDevice = links;
    return link;
}

LinkSpec ici(const char* id, const char* name, double peak, double rate, int ports, const char* source)
{
    LinkSpec link;
    link.id = id;
    link.name = name;
    link.alphaSeconds = micro(1.0);
    link.peakBytesPerSecond = giga(peak);
    link.bytesPerSecond = giga(rate);
    link.linksPerDevice = ports;
    link.source = source;
    return link;
}

LinkSpec dcn(const char* id, const char* name, double rate, const char* source)
{
    LinkSpec link;
    link.id = id;
    link.name = name;
    link.alphaSeconds = micro(10);
    link.peakBytesPerSecond = giga(rate);
    link.bytesPerSecond = giga(rate);
    link.source = std::string(source) + "; the step is assumed, not measured";
    return link;
}

LinkSpec memory(const char* id, const char* name, double step, double peak, double rate, const char* source)
{
    LinkSpec link;
    link.id = id;
    link.name = name;
    link.alphaSeconds = micro(step);
    link.peakBytesPerSecond = giga(peak);
    link.bytesPerSecond = giga(rate);
    link.shared = true;
    link.source = source;
    return link;
}

} // namespace

const std::vector<LinkSpec>& linkPresets()
{
    static const std::vector<LinkSpec> presets {
        pcie("pcie3-x16", "PCIe 3.0 x16", 15.75, 12, "8 GT/s with 128b/130b coding; NCCL topo.h PCI_BW"),
        pcie("pcie4-x16", "PCIe 4.0 x16", 31.5, 26,
             "16 GT/s with 128b/130b coding; host to device in the README of NVIDIA/nvbandwidth"),
        pcie("pcie5-x16", "PCIe 5.0 x16", 63, 55.6, "32 GT/s with 128b/130b coding; host to device in a published nvbandwidth run"),
        nvlink("nvlink2", "NVLink 2 (V100)", 150, 120, 6, "6 x 25 GB/s; 6 x 20.0 effective, NCCL topo.h SM70"),
        nvlink("nvlink-bridge-3090", "NVLink bridge between two RTX 3090", 56.25, 48, 4,
               "NVIDIA GA102 whitepaper: 4 x 14.06 GB/s; 4 x 12.0 effective, NCCL topo.h SM86"),
        nvlink("nvlink-bridge", "NVLink bridges between two PCIe cards (A100, H100)", 300, 240, 12,
               "NVIDIA A100 and H100 PCIe product briefs: 600 GB/s both ways; 12 x 20.0 effective, NCCL topo.h SM80"),
        nvlink("nvlink3", "NVLink 3 through NVSwitch (A100)", 300, 240, 12, "12 x 25 GB/s; 12 x 20.0 effective, NCCL topo.h SM80"),
        nvlink("nvlink4", "NVLink 4 through NVSwitch (H100, H200)", 450, 370, 18,
               "18 x 25 GB/s; 18 x 20.6 effective, NCCL topo.h SM90; 370 GB/s confirmed in NVIDIA/nccl-tests#212"),
        nvlink("nvlink5", "NVLink 5 through NVSwitch (B200, GB200)", 900, 721, 18,
               "18 x 50 GB/s; 18 x 40.1 effective, NCCL topo.h SM100"),
        infiniband("ib-hdr", "InfiniBand HDR, 200 Gb/s", 25, 24),
        infiniband("ib-ndr", "InfiniBand NDR or RoCE, 400 Gb/s", 50, 48),
        infiniband("ib-xdr", "InfiniBand XDR, 800 Gb/s", 100, 96),
        ethernet("roce-50", "RoCE, half a port of 100 Gb/s", 6.25, 6,
                 "half the line rate; NCCL topo.h counts 12 GB/s for 100 Gb/s"),
        ethernet("roce-100", "RoCE, 100 Gb/s", 12.5, 12, "line rate; NCCL topo.h counts 12 GB/s for 100 Gb/s"),
        ethernet("roce-200", "RoCE, 200 Gb/s", 25, 24, "line rate; NCCL topo.h counts 12 GB/s for 100 Gb/s"),
        ethernet("roce-400", "RoCE, 400 Gb/s", 50, 48, "line rate; NCCL topo.h counts 12 GB/s for 100 Gb/s"),
        ethernet("ethernet-10", "Ethernet, 10 Gb/s over TCP", 1.25, 1.1, "line rate; effective rate assumed: headers and TCP"),
        ethernet("ethernet-25", "Ethernet, 25 Gb/s over TCP", 3.125, 2.7, "line rate; effective rate assumed: headers and TCP"),
        ethernet("efa-400", "EFA, 400 Gb/s a GPU", 50, 40,
                 "aws.amazon.com/ec2/instance-types/p5: 3,200 Gb/s of eight; effective rate assumed, not measured"),
        xgmi("xgmi-mi250x", "Infinity Fabric of an MI250X node, one die", 100, 74, 2,
             "AMD Instinct MI250X datasheet: 50 GB/s a link each way; two of a die's links in a ring; effective share as of the "
             "MI300X"),
        xgmi("xgmi-mi300x", "Infinity Fabric to seven MI300X or MI325X", 448, 304, 7,
             "AMD Instinct MI300X datasheet: 7 x 64 GB/s; rccl-tests all-reduce of at least 304 GB/s in AMD's system validation "
             "guide"),
        xgmi("xgmi-mi355x", "Infinity Fabric to seven MI355X", 537.6, 365, 7,
             "AMD Instinct MI355X datasheet: 7 x 76.8 GB/s; effective share as of the MI300X, not measured"),
        ici("ici-v4", "TPU v4 ICI, one link", 50, 45, 6, "docs.cloud.google.com/tpu/docs/v4; scaling-book tpus.md; 1 µs a hop"),
        ici("neuronlink3", "NeuronLink-v3 of a Trainium2, one port", 160, 144, 4,
            "AWS Neuron documentation: 1.28 TB/s of a chip both ways, to four neighbours; effective rate and step assumed"),
        ici("ici-v5e", "TPU v5e ICI, one link", 50, 45, 4,
            "docs.cloud.google.com/tpu/docs/v6e: 1600 Gb/s both ways over 4 ports; scaling-book tpus.md; 1 µs a hop"),
        ici("ici-v5p", "TPU v5p ICI, one link", 100, 90, 6,
            "docs.cloud.google.com/tpu/docs/tpu7x: 1200 GB/s both ways over 6 ports; scaling-book tpus.md; 1 µs a hop"),
        ici("ici-v6e", "TPU v6e ICI, one link", 100, 90, 4,
            "docs.cloud.google.com/tpu/docs/tpu7x: 800 GB/s both ways over 4 ports; scaling-book tpus.md; 1 µs a hop"),
        ici("ici-tpu7x", "TPU7x ICI, one link", 100, 90, 6,
            "docs.cloud.google.com/tpu/docs/tpu7x: 1200 GB/s both ways over 6 links; effective rate as of the v5p, not measured; "
            "1 µs a hop assumed"),
        dcn("dcn-v4", "TPU v4 data-centre network, per chip", 6.25, "as of the v5p: 50 Gb/s a chip, not verified"),
        dcn("efa-trn2", "EFA of a Trainium2, per chip", 25, "aws.amazon.com/ec2/instance-types/trn2: 3.2 Tb/s for 16 chips"),
        dcn("dcn-v5e", "TPU v5e data-centre network, per chip", 3.125,
            "docs.cloud.google.com/tpu/docs/v6e: 2 x 100 Gb/s for 8 chips"),
        dcn("dcn-v5p", "TPU v5p data-centre network, per chip", 6.25, "docs.cloud.google.com/tpu/docs/tpu7x: 50 Gb/s a chip"),
        dcn("dcn-v6e-tpu7x", "TPU v6e and TPU7x data-centre network, per chip", 12.5,
            "docs.cloud.google.com/tpu/docs/tpu7x: 100 Gb/s a chip"),
        memory("hbm-virtual-h200", "Memory of one H200 that simulates all devices", 5.5, 4800, 4300,
               "device-to-device copy, bytes read and written, measured on an H200; the step is one kernel launch"),
        memory("shm-cpu-dev", "Memory of two CPU cores that play all devices", 10, 57, 48,
               "fused all-reduces, bytes read and written, 44 to 58 GB/s measured; the step is one wake-up of a thread"),
    };
    return presets;
}

const LinkSpec* findLink(std::string_view id)
{
    const auto& all = linkPresets();
    const auto found = std::ranges::find_if(all, [&](const LinkSpec& link) { return link.id == id; });
    return found == all.end() ? nullptr : &*found;
}

} // namespace shardboard
