// SPDX-License-Identifier: Apache-2.0
// A worker process and the lines that go to and from it. Plain POSIX, for programs without an event loop.
#pragma once

#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

namespace shardboard {

class WorkerProcess {
public:
    /// Starts `command` through the shell, or, when it is empty, what SHARDBOARD_ENGINE says, or the shardboard-engine beside
    /// the running program. Errors: it cannot be started.
    static Result<std::unique_ptr<WorkerProcess>> start(const std::string& command);
    /// Closes its input, gives it two seconds to leave, then ends it.
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    /// Sends one message. Reads meanwhile, so that two full pipes never wait for each other. Errors: the worker has ended.
    Status send(const nlohmann::json& message);
    /// The next line, without its newline; nothing when none came in time. Errors: the worker has ended (with its exit
    /// status or signal and the last of what it wrote on stderr), or sent a line above the protocol's limit.
    Result<std::optional<std::string>> readLine(double timeoutSeconds);

    /// The shardboard-engine beside the running program.
    static std::string ownEngine();

    pid_t pid() const { return m_pid; }
    /// The end of what it has written on stderr so far.
    const std::string& errors() const { return m_errorTail; }
    const std::string& command() const { return m_command; }

private:
    WorkerProcess() = default;
    /// Waits for something to happen on the pipes and takes it in; `wantWrite` also waits until input can be written.
    void pump(double timeoutSeconds, bool wantWrite, bool& writable);
    void takeOutput();
    void takeErrors();
    Error endedError();
    /// Waits for the process up to that long. True when it has ended.
    bool wait(double timeoutSeconds);

    std::string m_command;
    pid_t m_pid = -1;
    int m_input = -1; ///< of the worker; non-blocking, as are all
    int m_output = -1;
    int m_errors = -1;
    int m_status = 0; ///< as of waitpid, once m_ended
    bool m_ended = false;
    bool m_spoke = false; ///< it has sent a message
    bool m_tooLong = false;
    std::string m_partial;
    std::deque<std::string> m_lines;
    std::string m_errorTail;
};

} // namespace shardboard
