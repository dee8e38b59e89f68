// SPDX-License-Identifier: Apache-2.0
#include "engine/mpi/barrier.h"

#include "engine/machine/failure.h"

#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace shardboard::engine::mpi {

namespace {

/// Sleeps until somebody wakes the word or it is not `seen` any more. False when half a second passed without that.
bool sleepOn(std::atomic<std::uint32_t>& word, std::uint32_t seen)
{
    const timespec time { 0, 500'000'000 };
    return syscall(SYS_futex, &word, FUTEX_WAIT, seen, &time, nullptr, 0) == 0 || errno != ETIMEDOUT;
}

void wakeAll(std::atomic<std::uint32_t>& word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

} // namespace

void Barrier::wait(const std::function<void()>& whenLong)
{
    if (m_shared.stopped)
        throw Stopped {};
    const std::uint32_t generation = m_shared.generation;
    if (m_shared.arrived.fetch_add(1) + 1 == m_processes) {
        m_shared.arrived = 0;
        m_shared.generation.fetch_add(1);
        if (m_processes > 1)
            wakeAll(m_shared.generation);
        return;
    }
    for (int spin = 0; spin < m_spins && m_shared.generation == generation; ++spin)
#if defined(__x86_64__)
        __builtin_ia32_pause();
#else
        ;
#endif
    while (m_shared.generation == generation)
        if (!sleepOn(m_shared.generation, generation))
            whenLong();
    if (m_shared.stopped)
        throw Stopped {};
}

void Barrier::stop()
{
    m_shared.stopped = true;
    m_shared.generation.fetch_add(1); // lets those go who wait or are about to
    wakeAll(m_shared.generation);
}

} // namespace shardboard::engine::mpi
