// SPDX-License-Identifier: Apache-2.0
// From what a worker says of the machine that it runs on to hardware for designs.
#pragma once

#include "model/hardware/hardware.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

struct MachineDevice {
    std::string name; ///< as the driver has it: NVIDIA H100 80GB HBM3
    double memoryBytes = 0; ///< that programs get
};

/// The built-in device that a driver calls so, by the words of the name; null when it is none of them.
const DeviceSpec* deviceNamed(std::string_view name, double memoryBytes);

/// Devices of one kind side by side: rates and kernels of the built-in device, its links as in the first preset that has it, and
/// the memory that the machine has. Nothing for no devices, for different ones, and for one that is not known.
std::optional<Hardware> hardwareOfMachine(const std::vector<MachineDevice>& devices);

} // namespace shardboard
