// SPDX-License-Identifier: Apache-2.0
// A barrier for the processes of one host: a counter in memory that they share. Waiting spins for a moment where there are cores to
// spare, then sleeps. Stopping the run releases all who wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace shardboard::engine::mpi {

class Barrier {
public:
    /// Lies in shared memory that was zeros.
    struct Shared {
        std::atomic<std::uint32_t> generation;
        std::atomic<std::uint32_t> arrived;
        std::atomic<bool> stopped;
    };
    static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

    /// `spins`: how often to look before falling asleep.
    Barrier(Shared& shared, std::uint32_t processes, int spins)
        : m_shared(shared)
        , m_processes(processes)
        , m_spins(spins)
    {
    }

    /// Returns when all processes have arrived. Throws Stopped when the run is stopped meanwhile. `whenLong` is called about every
    /// half second and may throw.
    void wait(const std::function<void()>& whenLong);
    void stop();
    /// Set once the run is stopped, by whichever process.
    const std::atomic<bool>& stopped() const { return m_shared.stopped; }

private:
    Shared& m_shared;
    std::uint32_t m_processes;
    int m_spins;
};

} // namespace shardboard::engine::mpi
