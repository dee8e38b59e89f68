// SPDX-License-Identifier: Apache-2.0
// Sends lines of the protocol from a thread of its own, so that a client that does not read never holds up a run or the
// answer to a cancel.
#pragma once

#include <nlohmann/json.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace shardboard::engine {

class Outbox {
public:
    /// Takes over writing to the descriptor.
    explicit Outbox(int descriptor);
    ~Outbox();
    Outbox(const Outbox&) = delete;
    Outbox& operator=(const Outbox&) = delete;

    void send(const nlohmann::json& message);
    /// For messages that may be lost: dropped while much is still waiting.
    void sendIfIdle(const nlohmann::json& message);
    /// Waits until everything is written, but no longer than this many seconds.
    void drain(double seconds);

private:
    void push(const nlohmann::json& message, bool droppable);
    void write();
    bool writeLine(const std::string& line) const;

    int m_descriptor;
    std::mutex m_mutex;
    std::condition_variable m_wake;
    std::condition_variable m_drained;
    std::deque<std::string> m_lines; ///< guarded by m_mutex, as are the next three
    std::size_t m_waitingBytes = 0;
    bool m_leave = false;
    bool m_idle = true; ///< nothing waits and nothing is being written, or nobody reads any more
    std::thread m_thread;
};

} // namespace shardboard::engine
