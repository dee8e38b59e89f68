// SPDX-License-Identifier: Apache-2.0
// The way from a device to the memory of its host. A value type; part of a device.
#pragma once

#include <optional>
#include <string_view>

namespace shardboard {

struct HostLink {
    double bytesPerSecond = 0; ///< each way, as large copies reach it
    /// Of the host's memory, the share of one device where all of a node work at once; 0: not known, and taken as fast enough.
    double memoryBytesPerSecond = 0;
    friend bool operator==(const HostLink&, const HostLink&) = default;
};

struct DeviceSpec;

/// Of a built-in device; nothing where none is known.
std::optional<HostLink> knownHostLink(std::string_view device);
/// The device's own; where it says none that of PCIe 5 x16, which most servers have.
HostLink hostLinkOf(const DeviceSpec& device);

} // namespace shardboard
