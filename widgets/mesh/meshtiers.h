// SPDX-License-Identifier: Apache-2.0
// A mesh folded by what its devices are joined with: devices into nodes (or slices of a torus), those into the larger units of the
// hardware, and, where so many units would lie side by side that none can be found, into groups along the mesh axes. Mesh axes are
// cut where a unit ends. Devices whose ids follow no axes (two are swapped, say) still lie in their units: each stands in the slot
// of its id, which is the mesh position that would have this id if all ids followed the axes as most do. Pure.
#pragma once

#include "model/core/mesh.h"
#include "model/hardware/hardware.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

/// A mesh axis, or the part of one that lies inside a unit.
struct MeshFactor {
    int axis = -1;
    std::int64_t size = 1;
    std::int64_t stride = 1; ///< mesh positions between two steps
    bool whole = true; ///< the axis is not cut
    friend bool operator==(const MeshFactor&, const MeshFactor&) = default;
};

/// Units that hold the same number of devices each.
struct MeshTier {
    enum class Kind { Node, Slice, Network, Group };
    Kind kind = Kind::Group;
    std::int64_t devices = 1; ///< in a unit
    std::size_t factors = 0; ///< of them, from the inside out, lie in a unit
    std::size_t level = 0; ///< of the hardware, whose links join what is in a unit; of a group that of the units in it
    friend bool operator==(const MeshTier&, const MeshTier&) = default;
};

struct MeshTiers {
    std::vector<MeshFactor> factors; ///< from the inside out: by how far apart the ids of neighbours are
    std::vector<MeshTier> tiers; ///< from the inside out; none of them holds all devices
    std::vector<std::int64_t> weights; ///< ids between neighbours along each factor
    std::vector<std::int64_t> slotByPosition; ///< by mesh position; empty where each device stands at its own
    std::vector<std::int64_t> positionBySlot; ///< by slot
    bool followsAxes = true; ///< most devices stand at their own mesh position

    std::int64_t slotOf(std::int64_t position) const
    {
        return slotByPosition.empty() ? position : slotByPosition[static_cast<std::size_t>(position)];
    }
    std::int64_t positionIn(std::int64_t slot) const
    {
        return positionBySlot.empty() ? slot : positionBySlot[static_cast<std::size_t>(slot)];
    }

    /// Of the unit that a device is in: nodes and the like in the order of device ids; groups, too.
    std::int64_t unitOf(std::size_t tier, std::int64_t position) const;
    /// What mesh coordinates the slots of a unit have in common: `pod 3, data 5`, `data 64–127`.
    std::string coordinates(std::size_t tier, std::int64_t position, const Mesh& mesh) const;
    friend bool operator==(const MeshTiers&, const MeshTiers&) = default;
};

/// How far apart the ids of neighbours are along each mesh axis; nothing where that is not the same everywhere.
std::optional<std::vector<std::int64_t>> idStrides(const Mesh& mesh);
/// Units that no run of mesh positions fills are not folded by hardware.
MeshTiers foldedMesh(const Mesh& mesh, const Hardware& hardware);

} // namespace shardboard
