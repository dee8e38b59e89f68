// SPDX-License-Identifier: Apache-2.0
#include "app/worker/childprocess.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace shardboard {

namespace {

using Clock = std::chrono::steady_clock;

void closeOnce(int& descriptor)
{
    if (descriptor >= 0)
        ::close(descriptor);
    descriptor = -1;
}

/// A pipe; what was not taken is closed again in every case.
struct BothEnds {
    std::array<int, 2> ends { -1, -1 };
    ~BothEnds()
    {
        closeOnce(ends[0]);
        closeOnce(ends[1]);
    }
    bool open() { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }
    int take(std::size_t end)
    {
        const int out = std::exchange(ends[end], -1);
        ::fcntl(out, F_SETFL, ::fcntl(out, F_GETFL) | O_NONBLOCK);
        return out;
    }
};

int openEnd(pid_t process)
{
#ifdef SYS_pidfd_open
    return static_cast<int>(::syscall(SYS_pidfd_open, process, 0)); // closed on exec by itself
#else
    return -1;
#endif
}

} // namespace

ChildProcess::~ChildProcess()
{
    for (int& descriptor : m_pipes)
        closeOnce(descriptor);
    closeOnce(m_end);
}

int ChildProcess::start(std::vector<std::string> words, Group group)
{
    std::array<BothEnds, 3> pipes;
    for (BothEnds& pipe : pipes)
        if (!pipe.open())
            return errno;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, pipes[Input].ends[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipes[Output].ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipes[Errors].ends[1], STDERR_FILENO);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes,
                             static_cast<short>(POSIX_SPAWN_SETSIGDEF | (group == Group::ItsOwn ? POSIX_SPAWN_SETPGROUP : 0)));
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int failed = posix_spawn(&m_id, arguments.front(), &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        m_id = -1;
        m_ended = true;
        return failed;
    }
    m_pipes = { pipes[Input].take(1), pipes[Output].take(0), pipes[Errors].take(0) };
    m_end = openEnd(m_id);
    return 0;
}

void ChildProcess::close(Pipe pipe) { closeOnce(m_pipes[pipe]); }

bool ChildProcess::hasEnded()
{
    if (m_ended || m_id < 0)
        return m_ended;
    const pid_t got = ::waitpid(m_id, &m_status, WNOHANG);
    m_ended = got == m_id || (got < 0 && errno == ECHILD);
    if (m_ended)
        closeOnce(m_end);
    return m_ended;
}

std::string ChildProcess::howItEnded() const
{
    if (!m_ended)
        return {};
    if (wasKilled())
        return "killed by signal " + std::to_string(WTERMSIG(m_status)) + " (" + ::strsignal(WTERMSIG(m_status)) + ")";
    return "exit status " + std::to_string(WEXITSTATUS(m_status));
}

bool ChildProcess::wasKilled() const { return m_ended && WIFSIGNALED(m_status); }

bool ChildProcess::wasNotFound() const
{
    return m_ended && WIFEXITED(m_status) && (WEXITSTATUS(m_status) == 126 || WEXITSTATUS(m_status) == 127);
}

bool ChildProcess::wait(double seconds)
{
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (!hasEnded() && Clock::now() < end) {
        pollfd waiting { m_end, POLLIN, 0 };
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
        ::poll(&waiting, 1, m_end >= 0 ? static_cast<int>(left.count()) : 2);
    }
    return hasEnded();
}

void ChildProcess::signal(int number)
{
    if (m_id > 0 && !hasEnded()) // a process that was waited for may have left its number to another one
        ::kill(m_id, number);
}

} // namespace shardboard
