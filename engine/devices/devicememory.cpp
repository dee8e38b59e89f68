// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/devicememory.h"

#include <algorithm>

namespace shardboard::engine {

DeviceMemory::Hold& DeviceMemory::Hold::operator=(Hold&& other) noexcept
{
    if (this != &other) {
        release();
        m_memory = std::exchange(other.m_memory, nullptr);
        m_bytes = std::move(other.m_bytes);
    }
    return *this;
}

void DeviceMemory::Hold::release()
{
    if (m_memory != nullptr)
        for (const auto& [device, bytes] : m_bytes)
            m_memory->m_devices[device].held -= bytes;
    m_memory = nullptr;
}

DeviceMemory::Hold DeviceMemory::hold(const Mesh& mesh, const std::vector<std::int64_t>& bytes)
{
    std::vector<std::pair<std::int64_t, std::int64_t>> held;
    for (std::size_t position = 0; position < bytes.size(); ++position) {
        const std::int64_t id = mesh.deviceId(static_cast<std::int64_t>(position));
        Device& device = m_devices[id];
        device.held += bytes[position];
        device.peak = std::max(device.peak, device.held);
        device.recent = std::max(device.recent, device.held);
        held.emplace_back(id, bytes[position]);
    }
    return Hold(this, std::move(held));
}

std::int64_t DeviceMemory::peak(std::int64_t device) const
{
    const auto found = m_devices.find(device);
    return found == m_devices.end() ? 0 : found->second.peak;
}

std::int64_t DeviceMemory::takeRecentPeak(std::int64_t device)
{
    Device& of = m_devices[device];
    return std::exchange(of.recent, of.held);
}

} // namespace shardboard::engine
