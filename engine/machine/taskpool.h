// SPDX-License-Identifier: Apache-2.0
// A fixed set of worker threads that run numbered tasks. Which worker runs a task never changes its result.
// Each worker has a block of the numbers of its own, the same in every round of as many tasks: what a logical device has in the
// caches of a core is found there by its next operation. One that is done helps the others where tasks are long, so that unequal
// ones do not wait for each other; for short ones waiting is cheaper than the memory that would change caches.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace shardboard::engine {

class TaskPool {
public:
    /// `task(index, worker)` with worker in [0, workers()).
    using Task = std::function<void(std::int64_t index, int worker)>;

    /// `cancel` may be null; once it is set, run() starts no further task and throws Stopped.
    TaskPool(int workers, const std::atomic<bool>* cancel);
    ~TaskPool();
    TaskPool(const TaskPool&) = delete;
    TaskPool& operator=(const TaskPool&) = delete;

    int workers() const { return static_cast<int>(m_threads.size()); }

    /// Runs the tasks 0 … count-1 and waits for them. Rethrows the first exception of a task.
    void run(std::int64_t count, const Task& task);
    /// Throws Stopped when the run has been cancelled.
    void checkCancelled() const;

private:
    void work(int worker);
    void leave();
    void runTasks(int worker);
    bool runBlock(int owner, int worker);
    bool cancelled() const { return m_cancel != nullptr && m_cancel->load(std::memory_order_relaxed); }

    const std::atomic<bool>* m_cancel;
    std::vector<std::thread> m_threads;
    std::mutex m_mutex;
    std::condition_variable m_wake;
    std::condition_variable m_idle;
    std::uint64_t m_round = 0; ///< guarded by m_mutex, as are the next four
    int m_busy = 0;
    bool m_leave = false;
    std::exception_ptr m_failure;
    const Task* m_task = nullptr;
    struct alignas(64) Block { ///< on a cache line of its own
        std::atomic<std::int64_t> next { 0 };
        std::int64_t end = 0;
    };
    std::vector<Block> m_blocks; ///< by worker
};

} // namespace shardboard::engine
