// SPDX-License-Identifier: Apache-2.0
// A worker process and the lines that go to and from it. It knows nothing of what they say. What an event loop calls never waits;
// programs without one use send() and readLine().
#pragma once

#include "app/worker/childprocess.h"
#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace shardboard {

/// What an event loop has to watch; -1: nothing.
struct WorkerDescriptors {
    int output = -1; ///< to be read
    int errors = -1; ///< to be read
    int end = -1; ///< to be read, too
    int input = -1; ///< to be written
    bool operator==(const WorkerDescriptors&) const = default;
};

class WorkerProcess {
public:
    /// Starts `command` through the shell, or, when it is empty, what chosenCommand() says. Errors: it cannot be started.
    static Result<std::unique_ptr<WorkerProcess>> start(const std::string& command);
    /// Ends it as leave() does, and waits for that: at most 5 seconds.
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    /// Sends one message. Reads meanwhile, so that two full pipes never wait for each other. Errors: the worker has ended.
    Status send(const nlohmann::json& message);
    /// The next line, without its newline; nothing when none came in time. Errors: the worker has ended (with its exit
    /// status or signal and what it wrote on stderr), or sent a line above the protocol's limit.
    Result<std::optional<std::string>> readLine(double timeoutSeconds);

    /// Writes a message as soon as there is room for it. Errors: it is above the protocol's limit.
    Status post(const nlohmann::json& message);
    /// Waits at most so long for something to happen, and takes in what is there. Nothing is read while many lines wait.
    void step(double timeoutSeconds);
    std::optional<std::string> takeLine();
    /// The line that follows those that were taken is above the protocol's limit. Nothing is read any more.
    bool tooLong() const { return m_tooLong && m_lines.empty(); }
    /// All that it said was read and its end is known, or both are not to be waited for any longer.
    bool finished();
    WorkerDescriptors descriptors() const;
    /// After how many seconds step() is to be called even if nothing happens on the descriptors.
    std::optional<double> patience() const;

    /// Asks it to leave by closing its pipes, and hears no more of it. Ended by a signal after 2 s, killed after 0.5 s more.
    void leave();
    /// To be asked now and then after leave(): whether it is gone.
    bool hasLeft();
    void kill(); ///< at once, a worker that does not listen

    pid_t pid() const { return m_child.id(); }
    /// The end of what it has written on stderr so far.
    const std::string& errors() const { return m_errorTail; }
    const std::string& command() const { return m_command; }
    /// Once it has finished: `exit status 3`, `killed by signal 9 (Killed)` or `it closed its output`.
    std::string howItEnded() const;
    /// The same in an error of one line. `spoke`: it had shown itself to be a worker.
    Error endedError(bool spoke) const;
    /// The shell says that there is no such command, or that it cannot be run.
    bool wasNotFound() const { return m_child.wasNotFound(); }

private:
    using Clock = std::chrono::steady_clock;

    WorkerProcess() = default;
    bool wantsOutput() const;
    void takeOutput();
    void takeErrors();
    void writeInput();
    void noticeEnd();
    bool isEndKnown();

    std::string m_command;
    ChildProcess m_child;
    std::string m_unwritten; ///< of what was posted
    std::size_t m_written = 0; ///< of m_unwritten
    std::string m_partial;
    std::deque<std::string> m_lines;
    std::size_t m_unread = 0; ///< bytes in m_lines
    bool m_tooLong = false;
    std::string m_errorTail;
    std::optional<Clock::time_point> m_ending; ///< since when it says nothing any more though it has ended or closed its output
    std::optional<Clock::time_point> m_leaving;
    bool m_terminated = false;
    bool m_killed = false;
};

} // namespace shardboard
