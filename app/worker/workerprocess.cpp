// SPDX-License-Identifier: Apache-2.0
#include "app/worker/workerprocess.h"

#include "app/worker/lastwords.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/wire/greeting.h"
#include "model/io/wire/messages.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace shardboard {

namespace {

double clockSeconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string besideThisProgram(const std::string& name)
{
    std::array<char, 4096> path {};
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
    const std::string self(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    const auto slash = self.rfind('/');
    return slash == std::string::npos ? name : self.substr(0, slash + 1) + name;
}

void closeOnce(int& descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
    descriptor = -1;
}

/// Three pipes; the ends of the child are closed again in every case.
struct Pipes {
    std::array<int, 2> input { -1, -1 };
    std::array<int, 2> output { -1, -1 };
    std::array<int, 2> errors { -1, -1 };
    ~Pipes()
    {
        for (auto* pair : { &input, &output, &errors })
            for (int& descriptor : *pair)
                closeOnce(descriptor);
    }
    bool open()
    {
        return pipe2(input.data(), O_CLOEXEC) == 0 && pipe2(output.data(), O_CLOEXEC) == 0 && pipe2(errors.data(), O_CLOEXEC) == 0;
    }
};

int keep(int& descriptor)
{
    const int out = descriptor;
    descriptor = -1;
    fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
    return out;
}

/// Returns an errno, 0 when it was started.
int spawn(const std::string& program, const std::string& shellCommand, const Pipes& pipes, pid_t& pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, pipes.input[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipes.output[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipes.errors[1], STDERR_FILENO);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    short flags = POSIX_SPAWN_SETSIGDEF;
    // Ctrl-C is for us: we cancel the run in an orderly way. A command of the user's may have to ask for a password on the
    // terminal, so it stays in the foreground.
    if (shellCommand.empty())
        flags = static_cast<short>(flags | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setflags(&attributes, flags);
    std::string shell = "/bin/sh";
    std::string option = "-c";
    std::string first = shellCommand.empty() ? program : shell;
    std::string third = shellCommand;
    std::array<char*, 4> arguments { first.data(), shellCommand.empty() ? nullptr : option.data(), third.data(), nullptr };
    const int failed = posix_spawn(&pid, first.c_str(), &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

std::string statusText(int status)
{
    if (WIFSIGNALED(status))
        return "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
    return "left with exit status " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

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

std::string WorkerProcess::ownEngine() { return besideThisProgram("shardboard-engine"); }

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::string& command)
{
    std::unique_ptr<WorkerProcess> worker(new WorkerProcess);
    std::string shellCommand = command;
    if (const char* fromEnvironment = std::getenv("SHARDBOARD_ENGINE"); shellCommand.empty() && fromEnvironment != nullptr)
        shellCommand = fromEnvironment;
    const std::string program = ownEngine();
    worker->m_command = shellCommand.empty() ? program : shellCommand;
    std::signal(SIGPIPE, SIG_IGN); // a worker that has left is noticed by its pipes
    Pipes pipes;
    if (!pipes.open())
        return Error { ErrorCode::Engine, "engine", std::string("no pipes: ") + std::strerror(errno), "" };
    if (const int failed = spawn(program, shellCommand, pipes, worker->m_pid); failed != 0)
        return Error { ErrorCode::Engine, worker->m_command, std::string("cannot be started: ") + std::strerror(failed),
                       "build the target shardboard-engine, or name the command with --engine" };
    worker->m_input = keep(pipes.input[1]);
    worker->m_output = keep(pipes.output[0]);
    worker->m_errors = keep(pipes.errors[0]);
    return worker;
}

WorkerProcess::~WorkerProcess()
{
    // Nobody reads any more: one that would write for ever must not fill our memory while it is waited for.
    closeOnce(m_input);
    closeOnce(m_output);
    closeOnce(m_errors);
    if (m_pid > 0 && !wait(2.0)) {
        kill(m_pid, SIGTERM);
        if (!wait(0.5)) {
            kill(m_pid, SIGKILL);
            wait(2.0);
        }
    }
}

bool WorkerProcess::wait(double timeoutSeconds)
{
    const double end = clockSeconds() + timeoutSeconds;
    while (!m_ended) {
        const pid_t got = waitpid(m_pid, &m_status, WNOHANG);
        m_ended = got == m_pid || (got < 0 && errno == ECHILD);
        if (m_ended || clockSeconds() >= end)
            break;
        // What it still writes must be taken, or it could wait for us.
        bool writable = false;
        pump(0.005, false, writable);
        if (m_output < 0 && m_errors < 0)
            usleep(2000);
    }
    return m_ended;
}

void WorkerProcess::takeOutput()
{
    std::array<char, 65536> buffer;
    const ssize_t count = read(m_output, buffer.data(), buffer.size());
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
        closeOnce(m_output);
    if (count <= 0 || m_tooLong)
        return;
    std::string_view rest(buffer.data(), static_cast<std::size_t>(count));
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
        m_partial += rest.substr(0, end);
        m_lines.push_back(std::move(m_partial));
        m_spoke = m_spoke || greetingOf(m_lines.back()).kind != Greeting::Kind::Chatter;
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
    constexpr std::size_t kKept = 16384;
    std::array<char, 4096> buffer;
    const ssize_t count = read(m_errors, buffer.data(), buffer.size());
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
        closeOnce(m_errors);
    if (count > 0)
        m_errorTail.append(buffer.data(), static_cast<std::size_t>(count));
    if (m_errorTail.size() > kKept)
        m_errorTail.erase(0, m_errorTail.size() - kKept);
}

void WorkerProcess::pump(double timeoutSeconds, bool wantWrite, bool& writable)
{
    std::array<pollfd, 3> waiting { pollfd { m_output, POLLIN, 0 }, pollfd { m_errors, POLLIN, 0 },
                                    pollfd { wantWrite ? m_input : -1, POLLOUT, 0 } };
    const int milliseconds = static_cast<int>(std::clamp(timeoutSeconds, 0.0, 3600.0) * 1000);
    writable = false;
    if (poll(waiting.data(), waiting.size(), milliseconds) <= 0)
        return;
    if (m_output >= 0 && waiting[0].revents != 0)
        takeOutput();
    if (m_errors >= 0 && waiting[1].revents != 0)
        takeErrors();
    writable = wantWrite && waiting[2].revents != 0;
}

Error WorkerProcess::endedError()
{
    wait(1.0);
    bool writable = false;
    for (int i = 0; i < 16 && m_errors >= 0; ++i)
        pump(0.02, false, writable);
    std::string what = m_ended ? "the engine " + statusText(m_status) : "the engine has closed its output";
    if (const std::string words = lastWords(m_errorTail); !words.empty())
        what += ", last words: " + words;
    const bool ran = m_spoke || (m_ended && WIFSIGNALED(m_status));
    return Error { ErrorCode::Engine, m_command, what,
                   wantsMemory(m_errorTail) ? "give it more memory (ulimit -v, a container's limit)"
                       : ran                ? "run it again, with fewer --layers where memory is short"
                                            : "see that this command starts the worker of this version" };
}

Status WorkerProcess::send(const nlohmann::json& message)
{
    const std::string line = jsonText(message) + "\n";
    if (line.size() > kMaxLine)
        return Error { ErrorCode::Engine, "engine", "the plan is too large to be sent", "run a model with fewer layers" };
    std::size_t done = 0;
    while (done < line.size()) {
        bool writable = false;
        pump(1.0, true, writable);
        if (!writable) {
            if (m_output < 0)
                return endedError();
            continue;
        }
        const ssize_t count = write(m_input, line.data() + done, line.size() - done);
        if (count > 0)
            done += static_cast<std::size_t>(count);
        else if (errno != EAGAIN && errno != EINTR)
            return endedError();
    }
    return shardboard::done();
}

Result<std::optional<std::string>> WorkerProcess::readLine(double timeoutSeconds)
{
    const double end = clockSeconds() + timeoutSeconds;
    while (m_lines.empty()) {
        if (m_tooLong)
            return Error { ErrorCode::Engine, m_command, "the engine sent a line that is too long", "" };
        if (m_output < 0)
            return endedError();
        const double left = end - clockSeconds();
        if (left <= 0)
            return std::optional<std::string>();
        bool writable = false;
        pump(left, false, writable);
    }
    std::optional<std::string> line(std::move(m_lines.front()));
    m_lines.pop_front();
    return line;
}

} // namespace shardboard
