// SPDX-License-Identifier: Apache-2.0
// A process that we start, with pipes to its input, output and errors. Plain POSIX; nothing here waits but wait().
#pragma once

#include <array>
#include <string>
#include <sys/types.h>
#include <vector>

namespace shardboard {

class ChildProcess {
public:
    enum class Group {
        Ours, ///< it shares our terminal: it may ask for a password, and Ctrl-C ends it
        ItsOwn, ///< Ctrl-C is for us alone
    };
    enum Pipe { Input, Output, Errors };

    ChildProcess() = default;
    /// Closes the pipes. Whoever starts a process sees to its end.
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// Starts a program with its arguments. Returns an errno, 0 when it was started.
    int start(std::vector<std::string> words, Group group);
    pid_t id() const { return m_id; }

    /// Our end, which never blocks; -1 when it is closed.
    int descriptor(Pipe pipe) const { return m_pipes[pipe]; }
    void close(Pipe pipe);
    /// Readable when the process has ended; -1 where the kernel has no such descriptor, and once it is known.
    int endDescriptor() const { return m_end; }

    bool hasEnded();
    /// `exit status 3` or `killed by signal 9 (Killed)`; empty before it has ended.
    std::string howItEnded() const;
    bool wasKilled() const; ///< by a signal
    /// The shell's way to say that there is no such program or that it cannot be run.
    bool wasNotFound() const;
    /// True when it has ended within that time.
    bool wait(double seconds);
    void signal(int number);

private:
    pid_t m_id = -1;
    std::array<int, 3> m_pipes { -1, -1, -1 };
    int m_end = -1;
    bool m_ended = false;
    int m_status = 0; ///< as of waitpid, once m_ended
};

} // namespace shardboard
