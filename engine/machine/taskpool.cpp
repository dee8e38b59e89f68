// SPDX-License-Identifier: Apache-2.0
#include "engine/machine/taskpool.h"

#include "engine/machine/clock.h"
#include "engine/machine/failure.h"
#include "engine/machine/gemm.h"

#include <algorithm>

namespace shardboard::engine {

TaskPool::TaskPool(int workers, const std::atomic<bool>* cancel)
    : m_cancel(cancel)
    , m_blocks(static_cast<std::size_t>(std::max(1, workers)))
{
    try {
        for (int i = 0; i < std::max(1, workers); ++i)
            m_threads.emplace_back([this, i] { work(i); });
    } catch (...) { // no more threads, or no memory for them
        leave();
        throw;
    }
}

TaskPool::~TaskPool() { leave(); }

void TaskPool::leave()
{
    {
        const std::lock_guard lock(m_mutex);
        m_leave = true;
    }
    m_wake.notify_all();
    for (std::thread& thread : m_threads)
        thread.join();
}

void TaskPool::checkCancelled() const
{
    if (cancelled())
        throw Stopped {};
}

void TaskPool::run(std::int64_t count, const Task& task)
{
    checkCancelled();
    if (count <= 0)
        return;
    std::unique_lock lock(m_mutex);
    m_task = &task;
    const std::int64_t blocks = workers();
    for (std::int64_t i = 0; i < blocks; ++i) {
        Block& block = m_blocks[static_cast<std::size_t>(i)];
        block.next = count * i / blocks;
        block.end = count * (i + 1) / blocks;
    }
    m_failure = nullptr;
    m_busy = workers();
    ++m_round;
    m_wake.notify_all();
    m_idle.wait(lock, [this] { return m_busy == 0; });
    m_task = nullptr;
    if (m_failure)
        std::rethrow_exception(m_failure);
    checkCancelled();
}

void TaskPool::work(int worker)
{
    prepareGemmThread();
    std::uint64_t seen = 0;
    std::unique_lock lock(m_mutex);
    while (true) {
        m_wake.wait(lock, [&] { return m_leave || m_round != seen; });
        if (m_leave)
            return;
        seen = m_round;
        lock.unlock();
        runTasks(worker);
        lock.lock();
        if (--m_busy == 0)
            m_idle.notify_one();
    }
}

/// Whether no task of the block is left.
bool TaskPool::runBlock(int owner, int worker)
{
    Block& block = m_blocks[static_cast<std::size_t>(owner)];
    for (std::int64_t i = block.next++; i < block.end; i = block.next++) {
        if (cancelled())
            return false;
        (*m_task)(i, worker);
    }
    return true;
}

void TaskPool::runTasks(int worker)
{
    constexpr double kLong = 1e-3; // seconds of a block
    try {
        const double start = now();
        if (!runBlock(worker, worker) || now() - start < kLong)
            return;
        for (int other = 1; other < workers(); ++other)
            if (!runBlock((worker + other) % workers(), worker))
                return;
    } catch (...) {
        for (Block& block : m_blocks)
            block.next = block.end;
        const std::lock_guard lock(m_mutex);
        if (!m_failure)
            m_failure = std::current_exception();
    }
}

} // namespace shardboard::engine
