// SPDX-License-Identifier: Apache-2.0
#include "model/cost/collectivetime.h"

#include <algorithm>

namespace shardboard {

namespace {

/// Whether every device group over these axes stays inside one node.
bool insideNode(const std::vector<int>& axes, const Mesh& mesh, std::int64_t perNode)
{
    if (mesh.deviceIds().empty()) {
        // Row-major ids: an axis stays inside a node when its whole span, aligned as it is, divides the node.
        return std::all_of(axes.begin(), axes.end(), [&](int axis) {
            return perNode % (mesh.stride(axis) * mesh.axis(axis).size) == 0;
        });
    }
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
        std::int64_t first = position;
        for (const int axis : axes)
            first -= mesh.coordinate(position, axis) * mesh.stride(axis);
        if (mesh.deviceId(position) / perNode != mesh.deviceId(first) / perNode)
            return false;
    }
    return true;
}

} // namespace

const LinkSpec& linkOf(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware)
{
    const std::int64_t perNode = std::max<std::int64_t>(1, hardware.devicesPerNode());
    // A mesh that fits in one node never leaves it, whatever the sizes of its axes.
    if (mesh.deviceIds().empty() && mesh.deviceCount() <= perNode)
        return hardware.innerLink();
    return insideNode(axes, mesh, perNode) ? hardware.innerLink() : hardware.outerLink();
}

double collectiveSeconds(CollectiveKind kind, std::int64_t bytes, std::int64_t groupSize, const LinkSpec& link)
{
    if (kind == CollectiveKind::LocalSlice || groupSize <= 1)
        return 0;
    const double n = static_cast<double>(groupSize);
    const double transfer = static_cast<double>(bytes) / link.bytesPerSecond;
    const double part = (n - 1) / n;
    switch (kind) {
    case CollectiveKind::AllReduce:
        return 2 * (n - 1) * link.alphaSeconds + 2 * part * transfer;
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllToAll:
        return (n - 1) * link.alphaSeconds + part * transfer;
    case CollectiveKind::Broadcast:
        return (n - 1) * link.alphaSeconds + transfer;
    case CollectiveKind::SendRecv:
    case CollectiveKind::LocalSlice:
        break;
    }
    return link.alphaSeconds + transfer;
}

} // namespace shardboard
