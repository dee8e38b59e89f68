// SPDX-License-Identifier: Apache-2.0
// Memory without a file that several processes of a host map. It is gone with the last of them, however they end: nothing is
// left behind, and the size of /dev/shm does not matter, as it does for the windows of MPI libraries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace shardboard::engine::mpi {

class SharedSegment {
public:
    /// New memory of zeros, of which nothing is touched. Nothing when the system gives none.
    static std::optional<SharedSegment> make(std::int64_t bytes);
    /// That of another process, by its id and its descriptor. Nothing when it cannot be seen from here.
    static std::optional<SharedSegment> of(std::int64_t process, int descriptor, std::int64_t bytes);
    /// Addresses of this process alone, to be filled with what comes from another host.
    static std::optional<SharedSegment> own(std::int64_t bytes);

    SharedSegment(SharedSegment&& other) noexcept;
    SharedSegment& operator=(SharedSegment&& other) noexcept;
    ~SharedSegment();

    std::byte* memory() const { return m_memory; }
    std::int64_t bytes() const { return m_bytes; }
    int descriptor() const { return m_descriptor; }

private:
    SharedSegment() = default;
    static std::optional<SharedSegment> map(int descriptor, std::int64_t bytes);

    std::byte* m_memory = nullptr;
    std::int64_t m_bytes = 0;
    int m_descriptor = -1;
};

} // namespace shardboard::engine::mpi
