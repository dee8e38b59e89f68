// SPDX-License-Identifier: Apache-2.0
#include "model/io/ranks/servers.h"

#include <algorithm>

namespace shardboard {

Servers serversOf(const Design& design, const Evaluation& evaluation)
{
    Servers out { .sizes = servingSizes(design, evaluation) };
    const AxisUse& use = out.sizes.use;
    for (const int axis : use.data)
        (std::ranges::find(use.expert, axis) == use.expert.end() ? out.copyAxes : out.attentionAxes).push_back(axis);
    out.attention = design.mesh.groupSize(out.attentionAxes);
    out.copies = design.mesh.groupSize(out.copyAxes);
    out.copySize = design.mesh.deviceCount() / out.copies;
    const auto hardware = hardwareOf(design);
    out.nodeSize = std::min(hardware.ok() ? hardware.value().devicesPerNode() : 1, design.mesh.deviceCount());
    return out;
}

std::string nodeCommands(const Servers& servers, std::int64_t joint, const std::string& command, int firstPort)
{
    const std::int64_t all = servers.copies / joint;
    if (all == 1)
        return command + "\n";
    const std::int64_t each = std::min(all, servers.nodeSize / servers.copySize / joint);
    const std::int64_t rest = all % each;
    std::string text = all > each ? "# on every node\n" : "";
    if (rest > 0)
        text = "# on every node; on the last one the first " + (rest == 1 ? "line" : std::to_string(rest) + " lines") + " alone\n";
    if (each == 1)
        return text + command + "\n";
    int port = firstPort;
    for (const std::string& devices : devicesOfCopies(servers.copySize * joint, each))
        text += "CUDA_VISIBLE_DEVICES=" + devices + " " + command + " --port " + std::to_string(port++) + "\n";
    return text;
}

} // namespace shardboard
