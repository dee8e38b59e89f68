// SPDX-License-Identifier: Apache-2.0
// A fixed set of worker threads that run numbered tasks. Which worker runs a task never changes its result.
#pragma once

#include <atomic>
#include <condition_variable>
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
    std::int64_t m_count = 0;
    std::atomic<std::int64_t> m_next { 0 };
};

} // namespace shardboard::engine
