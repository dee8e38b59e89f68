// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/terminal.h"

#include "model/text/visibletext.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

namespace shardboard {

namespace {

std::atomic<bool> interrupted { false };
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void interrupt(int) { interrupted = true; }

} // namespace

ProgressLine::ProgressLine()
    : m_terminal(isatty(STDERR_FILENO) != 0)
{
}

void ProgressLine::show(std::int64_t step, std::int64_t of, const std::string& what)
{
    const std::int64_t quarter = step * 4 / std::max<std::int64_t>(1, of);
    if (m_terminal)
        std::fprintf(stderr, "\r\033[K%lld/%lld  %s", static_cast<long long>(step), static_cast<long long>(of),
                     shortened(visibleText(what), 60).c_str());
    else if (quarter > m_quarter)
        std::fprintf(stderr, "%lld/%lld  %s\n", static_cast<long long>(step), static_cast<long long>(of),
                     visibleText(what).c_str());
    m_quarter = std::max(m_quarter, quarter);
    m_shown = true;
}

void ProgressLine::clear() const
{
    if (m_terminal && m_shown)
        std::fputs("\r\033[K", stderr);
}

InterruptGuard::InterruptGuard()
{
    interrupted = false;
    struct sigaction action { };
    action.sa_handler = interrupt;
    sigaction(SIGINT, &action, &m_before);
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &m_before, nullptr); }

const std::atomic<bool>& InterruptGuard::flag() { return interrupted; }

Status checkWritable(const std::string& path)
{
    if (path.empty())
        return done();
    struct stat info { };
    if (::stat(path.c_str(), &info) != 0 && errno == ENAMETOOLONG)
        return inputError(path, std::string("cannot be written: ") + std::strerror(errno), "choose a shorter name");
    if (info.st_mode != 0 && !S_ISREG(info.st_mode))
        return inputError(path, S_ISDIR(info.st_mode) ? "is a folder" : "is not a regular file", "name a file to write to");
    const auto slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    if (::stat(folder.c_str(), &info) != 0)
        return inputError(path, "cannot be written in folder " + folder + ": " + std::strerror(errno),
                          "make the folder, or name another");
    if (!S_ISDIR(info.st_mode))
        return inputError(path, "cannot be written: " + folder + " is not a folder", "name another file");
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        return inputError(path, "cannot be written in folder " + folder + ": " + std::strerror(errno), "check its permissions");
    return done();
}

} // namespace shardboard
