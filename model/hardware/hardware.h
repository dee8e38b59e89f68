// SPDX-License-Identifier: Apache-2.0
// A kind of device and how devices are joined, level by level: NVLink islands in a fat tree, a torus in a data-centre
// network, one memory that plays all devices. A value type.
#pragma once

#include "model/core/result.h"
#include "model/hardware/devicespec.h"
#include "model/hardware/linkspec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

enum class Fabric { Switch, FatTree, Torus, Dcn, SharedMemory };
std::string fabricName(Fabric fabric); ///< switch, fat-tree, torus, dcn, shared-memory
std::optional<Fabric> fabricFromName(std::string_view name);

/// Sums made in the switch. Of an island (NVLink SHARP) an all-reduce of S bytes over n devices takes startSeconds + (1 + 1/n) S /
/// (efficiency x the link's rate); of a fat tree (SHARP of InfiniBand) startSeconds + S / (efficiency x the rate).
struct InSwitchReduction {
    double startSeconds = 0; ///< besides the link's own start
    double efficiency = 1;
    friend bool operator==(const InSwitchReduction&, const InSwitchReduction&) = default;
};

/// Joins devices (the innermost level) or groups that the level below has joined.
struct Level {
    Fabric fabric = Fabric::Switch;
    std::int64_t size = 0; ///< members of one unit; 0: all the rest, on the outermost level only
    LinkSpec link;
    double nicsPerDevice = 1; ///< ports of this level that each device has; below 1: devices share one
    std::vector<std::int64_t> shape {}; ///< of a torus, row-major; its product is `size`
    std::vector<bool> wraps {}; ///< of a torus: which of its dims close to a ring
    std::optional<InSwitchReduction> inSwitch {};
    friend bool operator==(const Level&, const Level&) = default;
};

/// Whose algorithms a collective can take: those of NCCL, or any that is known.
enum class CollectiveLibrary { Nccl, Any };
std::string libraryName(CollectiveLibrary library); ///< nccl, any
std::optional<CollectiveLibrary> libraryFromName(std::string_view name);

struct Hardware {
    std::string id; ///< `dgx-h100`
    std::string name; ///< `DGX H100 cluster`
    std::string source; ///< where the numbers come from
    DeviceSpec device;
    std::vector<Level> levels; ///< inner first; device ids count row-major through them
    CollectiveLibrary library = CollectiveLibrary::Nccl;

    double peakFlops(DType type) const { return device.peakFlops(type); }
    double memoryBytes() const { return device.memoryBytes; }
    double reservedBytes() const { return device.reservedBytes; }
    double memoryBytesPerSecond() const { return device.memoryBytesPerSecond; }
    /// Devices that the innermost level joins.
    std::int64_t devicesPerNode() const;
    const LinkSpec& innerLink() const;
    const LinkSpec& outerLink() const; ///< of the outermost level
    friend bool operator==(const Hardware&, const Hardware&) = default;
};

/// `perNode` devices on a switch, and such nodes on a network.
Hardware twoLevelHardware(std::int64_t perNode, LinkSpec inner, LinkSpec outer);

/// All built-in presets, in the order shown to people.
const std::vector<Hardware>& hardwarePresets();
/// Errors list the known ids. Ids of earlier versions are known, too: tpu-v5p, cpu.
Result<Hardware> findHardware(const std::string& id, const std::string& where = "--hardware");

} // namespace shardboard
