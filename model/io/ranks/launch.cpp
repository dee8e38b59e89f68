// SPDX-License-Identifier: Apache-2.0
#include "model/io/ranks/launch.h"

#include <algorithm>
#include <numeric>

namespace shardboard {

Hosts hostsOf(const Design& design)
{
    const std::int64_t devices = design.mesh.deviceCount();
    const auto hardware = hardwareOf(design);
    const std::int64_t most = hardware.ok() ? std::max<std::int64_t>(hardware.value().devicesPerNode(), 1) : devices;
    const std::int64_t each = devices <= most ? devices : std::gcd(devices, most);
    return { devices / each, each };
}

std::string torchrunText(const Design& design)
{
    const Hosts hosts = hostsOf(design);
    std::string text = "torchrun ";
    if (hosts.count > 1)
        text += "--nnodes " + std::to_string(hosts.count) + " --rdzv-backend c10d --rdzv-endpoint $HOST ";
    return text + "--nproc-per-node " + std::to_string(hosts.devices);
}

} // namespace shardboard
