// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/outbox.h"
#include "model/io/json/jsonwriter.h"

#include <cerrno>
#include <chrono>
#include <unistd.h>

namespace shardboard::engine {

Outbox::Outbox(int descriptor)
    : m_descriptor(descriptor)
    , m_thread([this] { write(); })
{
}

Outbox::~Outbox()
{
    {
        const std::lock_guard lock(m_mutex);
        m_leave = true;
    }
    m_wake.notify_one();
    m_thread.join();
}

void Outbox::send(const nlohmann::json& message) { push(message, false); }

void Outbox::sendIfIdle(const nlohmann::json& message) { push(message, true); }

void Outbox::push(const nlohmann::json& message, bool droppable)
{
    constexpr std::size_t kMostWaiting = 8u << 20;
    std::string line = jsonText(message) + "\n";
    {
        const std::lock_guard lock(m_mutex);
        if (droppable && m_waitingBytes > kMostWaiting)
            return;
        m_waitingBytes += line.size();
        m_lines.push_back(std::move(line));
        m_idle = false;
    }
    m_wake.notify_one();
}

void Outbox::drain(double seconds)
{
    std::unique_lock lock(m_mutex);
    m_drained.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return m_idle; });
}

void Outbox::write()
{
    std::unique_lock lock(m_mutex);
    while (true) {
        m_idle = m_lines.empty();
        if (m_idle)
            m_drained.notify_all();
        m_wake.wait(lock, [this] { return m_leave || !m_lines.empty(); });
        if (m_lines.empty())
            return;
        const std::string line = std::move(m_lines.front());
        m_lines.pop_front();
        m_waitingBytes -= line.size();
        lock.unlock();
        const bool written = writeLine(line);
        lock.lock();
        if (!written) {
            m_idle = true;
            m_drained.notify_all();
            return; // nobody reads any more; the closed input ends the program
        }
    }
}

bool Outbox::writeLine(const std::string& line) const
{
    std::size_t done = 0;
    while (done < line.size()) {
        const ssize_t count = ::write(m_descriptor, line.data() + done, line.size() - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        done += static_cast<std::size_t>(count);
    }
    return true;
}

} // namespace shardboard::engine
