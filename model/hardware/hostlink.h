// SPDX-License-Identifier: Apache-2.0
// The way from a device to the memory of its host. A value type; part of a device.
#pragma once

#include <optional>
#include <string_view>

namespace shardboard {

struct HostLink {
    double bytesPerSecond = 0; ///< each way, as large copies reach it
    /// Of the host's memory, the share of one device where all of a node work at once; 0: not known (hostLinkOf() takes a slow
    /// one).
    double memoryBytesPerSecond = 0;
    /// Of the host's memory, the share of one device; 0: not known, and nothing says how much can lie there.
    double memoryBytes = 0;
    friend bool operator==(const HostLink&, const HostLink&) = default;
};

struct DeviceSpec;

/// Of a built-in device; nothing where none is known.
std::optional<HostLink> knownHostLink(std::string_view device);
/// The device's own; what it does not say is slow: PCIe 4 x16, and memory as a device of DGX A100 has a share of.
HostLink hostLinkOf(const DeviceSpec& device);

/// Whether the memory of the host is the device's own, so that nothing is freed by moving there.
bool hasHostMemory(const DeviceSpec& device);

} // namespace shardboard
