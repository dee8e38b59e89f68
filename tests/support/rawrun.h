// SPDX-License-Identifier: Apache-2.0
// Runs a program with any bytes as arguments, which QProcess cannot, and keeps the bytes that came out.
#pragma once

#include <cerrno>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shardboard::test {

struct RawOutcome {
    int code = -1; ///< -1: a signal ended it
    int signal = 0;
    std::string out;
    std::string err;
};

struct RawLimits {
    rlim_t addressBytes = RLIM_INFINITY; ///< as ulimit -v
};

inline RawOutcome runRaw(const std::vector<std::string>& words, const RawLimits& limits = {})
{
    std::vector<char*> arguments;
    for (const std::string& word : words)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    int out[2];
    int err[2];
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0)
        return {};
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
        ::dup2(out[1], STDOUT_FILENO);
        ::dup2(err[1], STDERR_FILENO);
        const struct rlimit addresses {
            limits.addressBytes, limits.addressBytes
        };
        ::setrlimit(RLIMIT_AS, &addresses);
        const struct rlimit cores {
            0, 0
        };
        ::setrlimit(RLIMIT_CORE, &cores);
        ::execv(arguments.front(), arguments.data());
        ::_exit(126);
    }
    ::close(out[1]);
    ::close(err[1]);
    RawOutcome outcome;
    pollfd open[2] { { out[0], POLLIN, 0 }, { err[0], POLLIN, 0 } };
    std::string* texts[2] { &outcome.out, &outcome.err };
    while (open[0].fd >= 0 || open[1].fd >= 0) {
        ::poll(open, 2, -1);
        for (int i = 0; i < 2; ++i) {
            char buffer[65536];
            if (open[i].fd < 0 || open[i].revents == 0)
                continue;
            const ssize_t count = ::read(open[i].fd, buffer, sizeof buffer);
            if (count > 0)
                texts[i]->append(buffer, static_cast<std::size_t>(count));
            else if (count == 0 || errno != EINTR)
                open[i].fd = -1;
        }
    }
    ::close(out[0]);
    ::close(err[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status))
        outcome.code = WEXITSTATUS(status);
    else
        outcome.signal = WTERMSIG(status);
    return outcome;
}

inline RawOutcome shardctlRaw(std::vector<std::string> words, const RawLimits& limits = {})
{
    words.insert(words.begin(), SHARDBOARD_BINARY_DIR "/bin/shardctl");
    return runRaw(words, limits);
}

} // namespace shardboard::test
