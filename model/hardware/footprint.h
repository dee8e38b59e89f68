// SPDX-License-Identifier: Apache-2.0
// How the device groups over some mesh axes sit on the levels of the hardware, which the order of the mesh's devices
// decides: device d is in node d / devicesPerNode, and so on outwards; in a torus ids count row-major through its shape.
#pragma once

#include "model/core/mesh.h"
#include "model/hardware/hardware.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

/// What a group takes of one dim of a torus.
struct TorusExtent {
    std::int64_t count = 1; ///< places of the dim on which it has devices
    std::int64_t span = 1; ///< places from its first to its last
    std::int64_t size = 1; ///< of the dim
    bool ring = false; ///< evenly spaced over the whole dim, which closes to a ring
    /// Groups whose traffic takes the same links, because the places lie in between each other.
    std::int64_t sharing() const;
    friend bool operator==(const TorusExtent&, const TorusExtent&) = default;
};

/// What a group takes of one level.
struct LevelShare {
    std::int64_t members = 1; ///< of a unit that it takes (devices of a node, nodes of the network); the most of any unit
    std::int64_t fewest = 1; ///< the least of any unit that it touches
    std::int64_t units = 1; ///< units that it touches
    std::vector<TorusExtent> torus {}; ///< by dim of the torus
    friend bool operator==(const LevelShare&, const LevelShare&) = default;
};

struct Footprint {
    std::int64_t devices = 1; ///< in each group
    std::int64_t groups = 1; ///< on the mesh, all at work at the same time
    std::vector<LevelShare> levels; ///< inner first, as in Hardware::levels
    bool even = true; ///< whether every unit that is touched has as many members
    bool alike = true; ///< whether all groups of the mesh lie in this way
    friend bool operator==(const Footprint&, const Footprint&) = default;
};

/// The worst group where they differ: the one that reaches farthest with the fewest devices in a unit. Closed form for
/// devices in row-major order whose axes fit the levels; otherwise all devices are looked at, O(D log D).
Footprint footprintOf(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware);
/// The same by looking at every device, whatever their order.
Footprint countedFootprint(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware);

/// Device groups that share a port of this level; 1 where each device has one of its own.
double portSharing(const Footprint& footprint, const Hardware& hardware, std::size_t level);
/// The link of the outermost level that a group reaches over.
const LinkSpec& widestLink(const Footprint& footprint, const Hardware& hardware);
const LinkSpec& linkOf(const std::vector<int>& axes, const Mesh& mesh, const Hardware& hardware);
/// Ids of the links in use, inner first: `nvlink4 + ib-ndr`; empty for a group of one.
std::string linkNames(const Footprint& footprint, const Hardware& hardware);
/// `4 devices in one NVLink domain`, `8 x 2 nodes, 1 NIC a device`, `ring of 16 with wraparound`.
std::string describe(const Footprint& footprint, const Hardware& hardware);

} // namespace shardboard
