// SPDX-License-Identifier: Apache-2.0
#include "app/worker/workerprocess.h"

#include "app/worker/stderrsummary.h"
#include "app/worker/workercommand.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/wire/messages.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace shardboard {

namespace {

using Seconds = std::chrono::duration<double>;

constexpr Seconds kEndTime { 1.0 }; // for the rest of what it said, and for its end to be known
constexpr Seconds kLeaveTime { 2.0 };
constexpr Seconds kTerminateTime { 0.5 };
constexpr Seconds kKillTime { 2.0 };
constexpr std::size_t kMostUnread = std::size_t { 1 } << 20; // of lines that nobody takes
constexpr std::size_t kErrorsKept = std::size_t { 64 } << 10;

/// Of read(), write(): not now, but perhaps later.
bool mayBeTriedAgain() { return errno == EAGAIN || errno == EINTR; }

/// Whether that is said by a program, or by who loads it, for want of memory.
bool wantsMemory(const std::string& errors)
{
    for (const char* words : { "failed to map segment", "annot allocate memory", "cannot map zero-fill pages", "bad_alloc",
                               "not enough memory", "Resource temporarily unavailable" })
        if (errors.find(words) != std::string::npos)
            return true;
    return false;
}

} // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::string& command)
{
    std::unique_ptr<WorkerProcess> worker(new WorkerProcess);
    const std::string chosen = command.empty() ? chosenCommand({}) : command;
    worker->m_command = chosen.empty() ? ownEngine() : chosen;
    std::signal(SIGPIPE, SIG_IGN); // a worker that has left is noticed by its pipes
    // A command of the user's may have to ask for a password on the terminal, so it stays in the foreground.
    const int failed = chosen.empty() ? worker->m_child.start({ worker->m_command }, ChildProcess::Group::ItsOwn)
                                      : worker->m_child.start({ "/bin/sh", "-c", chosen }, ChildProcess::Group::Ours);
    if (failed != 0)
        return Error { ErrorCode::Engine, worker->m_command, std::string("cannot be started: ") + std::strerror(failed),
                       "build the target shardboard-engine, or name the command with --engine" };
    return worker;
}

WorkerProcess::~WorkerProcess()
{
    leave();
    const auto end = Clock::now() + kLeaveTime + kTerminateTime + kKillTime;
    while (!hasLeft() && Clock::now() < end)
        m_child.wait(m_terminated ? 0.05 : kLeaveTime.count());
}

void WorkerProcess::leave()
{
    if (m_leaving)
        return;
    // Nobody reads any more: one that would write for ever must not fill our memory while it is waited for.
    for (const auto pipe : { ChildProcess::Input, ChildProcess::Output, ChildProcess::Errors })
        m_child.close(pipe);
    m_leaving = Clock::now();
}

bool WorkerProcess::hasLeft()
{
    if (m_child.hasEnded())
        return true;
    const Seconds passed = m_leaving ? Clock::now() - *m_leaving : Seconds { 0 };
    if (passed >= kLeaveTime && !std::exchange(m_terminated, true))
        m_child.signal(SIGTERM);
    if (passed >= kLeaveTime + kTerminateTime && !std::exchange(m_killed, true))
        m_child.signal(SIGKILL);
    return false;
}

void WorkerProcess::kill() { m_child.signal(SIGKILL); }

bool WorkerProcess::wantsOutput() const
{
    return m_child.descriptor(ChildProcess::Output) >= 0 && !m_tooLong && (m_unread < kMostUnread || !m_unwritten.empty());
}

WorkerDescriptors WorkerProcess::descriptors() const
{
    return { wantsOutput() ? m_child.descriptor(ChildProcess::Output) : -1, m_child.descriptor(ChildProcess::Errors),
             m_child.endDescriptor(), m_unwritten.empty() ? -1 : m_child.descriptor(ChildProcess::Input) };
}

std::optional<double> WorkerProcess::patience() const
{
    constexpr double kLook = 0.25; // where nothing else tells of its end
    if (m_ending)
        return std::max(0.0, Seconds(*m_ending + kEndTime - Clock::now()).count());
    return m_child.endDescriptor() < 0 ? std::optional(kLook) : std::nullopt;
}

void WorkerProcess::step(double timeoutSeconds)
{
    const WorkerDescriptors watched = descriptors();
    std::array<pollfd, 4> waiting { pollfd { watched.output, POLLIN, 0 }, pollfd { watched.errors, POLLIN, 0 },
                                    pollfd { watched.end, POLLIN, 0 }, pollfd { watched.input, POLLOUT, 0 } };
    const double seconds = std::clamp(std::min(timeoutSeconds, patience().value_or(timeoutSeconds)), 0.0, 3600.0);
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(seconds * 1000)) > 0) {
        if (waiting[0].revents != 0)
            takeOutput();
        if (waiting[1].revents != 0)
            takeErrors();
        if (waiting[3].revents != 0)
            writeInput();
    }
    noticeEnd();
}

void WorkerProcess::noticeEnd()
{
    const bool ended = m_child.hasEnded();
    if (!m_ending && (ended || m_child.descriptor(ChildProcess::Output) < 0))
        m_ending = Clock::now();
}

bool WorkerProcess::finished()
{
    noticeEnd();
    return m_lines.empty() && isEndKnown();
}

bool WorkerProcess::isEndKnown()
{
    if (!m_ending)
        return false;
    return (m_child.hasEnded() && m_child.descriptor(ChildProcess::Output) < 0 && m_child.descriptor(ChildProcess::Errors) < 0)
        || Clock::now() >= *m_ending + kEndTime;
}

void WorkerProcess::takeOutput()
{
    std::array<char, 65536> buffer;
    const ssize_t count = ::read(m_child.descriptor(ChildProcess::Output), buffer.data(), buffer.size());
    if (count == 0 || (count < 0 && !mayBeTriedAgain()))
        m_child.close(ChildProcess::Output);
    if (count <= 0)
        return;
    m_ending.reset(); // what it has started may speak on
    std::string_view rest(buffer.data(), static_cast<std::size_t>(count));
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
        m_partial += rest.substr(0, end);
        m_unread += m_partial.size();
        m_lines.push_back(std::move(m_partial));
        m_partial.clear();
        rest.remove_prefix(end + 1);
    }
    m_partial += rest;
    if (m_partial.size() > kMaxLine) {
        m_tooLong = true;
        m_partial = {};
    }
}

void WorkerProcess::takeErrors()
{
    std::array<char, 4096> buffer;
    const ssize_t count = ::read(m_child.descriptor(ChildProcess::Errors), buffer.data(), buffer.size());
    if (count == 0 || (count < 0 && !mayBeTriedAgain()))
        m_child.close(ChildProcess::Errors);
    if (count > 0)
        m_errorTail.append(buffer.data(), static_cast<std::size_t>(count));
    if (m_errorTail.size() > kErrorsKept)
        m_errorTail.erase(0, m_errorTail.size() - kErrorsKept);
}

void WorkerProcess::writeInput()
{
    const ssize_t count =
        ::write(m_child.descriptor(ChildProcess::Input), m_unwritten.data() + m_written, m_unwritten.size() - m_written);
    if (count > 0)
        m_written += static_cast<std::size_t>(count);
    else if (!mayBeTriedAgain())
        m_child.close(ChildProcess::Input);
    if (m_written == m_unwritten.size() || m_child.descriptor(ChildProcess::Input) < 0) {
        m_unwritten.clear();
        m_written = 0;
    }
}

std::optional<std::string> WorkerProcess::takeLine()
{
    if (m_lines.empty())
        return std::nullopt;
    std::optional<std::string> line(std::move(m_lines.front()));
    m_lines.pop_front();
    m_unread -= line->size();
    return line;
}

Status WorkerProcess::post(const nlohmann::json& message)
{
    const std::string line = jsonText(message) + "\n";
    if (line.size() > kMaxLine)
        return Error { ErrorCode::Engine, "engine", "the plan is too large to be sent", "run a model with fewer layers" };
    if (m_child.descriptor(ChildProcess::Input) >= 0) // what is for nobody is dropped: the end of the worker is told by finished()
        m_unwritten += line;
    return done();
}

std::string WorkerProcess::howItEnded() const
{
    const std::string how = m_child.howItEnded();
    return how.empty() ? "it closed its output" : how;
}

Error WorkerProcess::endedError(bool spoke) const
{
    const std::string how = m_child.howItEnded();
    std::string what = how.empty() ? "the engine has closed its output"
        : m_child.wasKilled()      ? "the engine was " + how
                                   : "the engine ended with " + how;
    if (const std::string said = stderrSummary(m_errorTail); !said.empty())
        what += ", last words: " + said;
    return Error { ErrorCode::Engine, m_command, what,
                   wantsMemory(m_errorTail)           ? "give it more memory (ulimit -v, a container's limit)"
                       : spoke || m_child.wasKilled() ? "run it again, with fewer --layers where memory is short"
                                                      : "see that this command starts the worker of this version" };
}

Status WorkerProcess::send(const nlohmann::json& message)
{
    if (const auto status = post(message); !status.ok())
        return status;
    while (!m_unwritten.empty())
        step(1.0);
    if (m_child.descriptor(ChildProcess::Input) >= 0)
        return done();
    for (const auto end = Clock::now() + kEndTime; !isEndKnown() && Clock::now() < end;)
        step(0.1);
    return endedError(false);
}

Result<std::optional<std::string>> WorkerProcess::readLine(double timeoutSeconds)
{
    for (const auto end = Clock::now() + Seconds(timeoutSeconds);;) {
        if (auto line = takeLine())
            return line;
        if (tooLong())
            return Error { ErrorCode::Engine, m_command, "the engine sent a line that is too long", "" };
        if (finished())
            return endedError(false);
        const double left = Seconds(end - Clock::now()).count();
        if (left <= 0)
            return std::optional<std::string>();
        step(left);
    }
}

} // namespace shardboard
