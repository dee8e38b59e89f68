// SPDX-License-Identifier: Apache-2.0
// What each logical device holds, and the most that it ever held. One arena serves them all, so it is counted here.
#pragma once

#include "model/core/mesh.h"

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace shardboard::engine {

class DeviceMemory {
public:
    /// What a tensor holds on the devices; gives it back.
    class Hold {
    public:
        Hold() = default;
        Hold(DeviceMemory* memory, std::vector<std::pair<std::int64_t, std::int64_t>> bytes)
            : m_memory(memory)
            , m_bytes(std::move(bytes))
        {
        }
        Hold(Hold&& other) noexcept
            : m_memory(std::exchange(other.m_memory, nullptr))
            , m_bytes(std::move(other.m_bytes))
        {
        }
        Hold& operator=(Hold&& other) noexcept;
        ~Hold() { release(); }
        void release();

    private:
        DeviceMemory* m_memory = nullptr;
        std::vector<std::pair<std::int64_t, std::int64_t>> m_bytes; ///< device id and bytes
    };

    /// Counts tensors on this mesh. Those on others, such as the reference's, are nobody's.
    void watch(const Mesh& mesh) { m_meshes.insert(&mesh); }
    bool watches(const Mesh& mesh) const { return m_meshes.contains(&mesh); }
    /// `bytes` by mesh position.
    Hold hold(const Mesh& mesh, const std::vector<std::int64_t>& bytes);

    std::int64_t peak(std::int64_t device) const;
    /// The most since it was asked for the last time.
    std::int64_t takeRecentPeak(std::int64_t device);

private:
    struct Device {
        std::int64_t held = 0;
        std::int64_t peak = 0;
        std::int64_t recent = 0;
    };
    std::set<const Mesh*> m_meshes;
    std::map<std::int64_t, Device> m_devices;
};

} // namespace shardboard::engine
