// SPDX-License-Identifier: Apache-2.0
// Whole files in and out, by POSIX calls because durability (fsync) and exact reasons are what this file is about.
#include "model/formats/designfile.h"

#include "model/formats/openfile.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardboard {

namespace {

std::string reason() { return std::strerror(errno); }

std::string folderOf(const std::string& path)
{
    const auto slash = path.rfind('/');
    if (slash == std::string::npos)
        return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

/// Where a save has to go: a link is followed, so that it stays a link.
std::string resolved(const std::string& path)
{
    char* real = ::realpath(path.c_str(), nullptr);
    if (!real)
        return path;
    std::string out = real;
    std::free(real);
    return out;
}

bool writeAll(int file, std::string_view content)
{
    std::size_t written = 0;
    while (written < content.size()) {
        const ssize_t count = ::write(file, content.data() + written, content.size() - written);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return false;
        written += static_cast<std::size_t>(count);
    }
    return true;
}

/// Small pieces together. False: the text ended early, or the file takes no more; then `failed` has the reason.
bool writePieces(int file, const TextSource& text, std::string& failed)
{
    constexpr std::size_t kTogether = std::size_t { 1 } << 16;
    std::string waiting;
    const auto flush = [&] {
        if (!writeAll(file, waiting))
            failed = reason();
        waiting.clear();
        return failed.empty();
    };
    const bool whole = text([&](std::string_view piece) {
        waiting += piece;
        return waiting.size() < kTogether || flush();
    });
    return whole && flush();
}

/// The rights of the file that is replaced, or what the user's mask gives a new one.
mode_t modeFor(const std::string& path)
{
    struct stat info { };
    if (::stat(path.c_str(), &info) == 0)
        return info.st_mode & 07777;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

/// The rename itself must reach the disk as well; a file system that cannot do this is not an error of the save.
void syncFolder(const std::string& folder)
{
    const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return;
    ::fsync(file);
    ::close(file);
}

} // namespace

Result<OpenFile> OpenFile::open(const std::string& path)
{
    // Without O_NONBLOCK a pipe would wait here for somebody to write into it.
    const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return inputError(path, "cannot be opened: " + reason(), "check the path and its permissions");
    OpenFile out(file);
    struct stat info { };
    if (::fstat(file, &info) != 0)
        return inputError(path, "cannot be read: " + reason(), "check the file and the disk that it is on");
    if (S_ISDIR(info.st_mode))
        return inputError(path, "is a folder, not a file", "name a file in it");
    if (!S_ISREG(info.st_mode))
        return inputError(path, "is not a regular file", "name a file");
    out.m_size = static_cast<std::int64_t>(info.st_size);
    return out;
}

OpenFile::OpenFile(OpenFile&& other) noexcept
    : m_file(other.m_file)
    , m_size(other.m_size)
{
    other.m_file = -1;
}

OpenFile::~OpenFile()
{
    if (m_file >= 0)
        ::close(m_file);
}

std::optional<std::size_t> OpenFile::read(char* buffer, std::size_t size)
{
    while (true) {
        const ssize_t count = ::read(m_file, buffer, size);
        if (count >= 0)
            return static_cast<std::size_t>(count);
        if (errno != EINTR)
            return std::nullopt;
    }
}

Result<std::string> readTextFile(const std::string& path, std::size_t limit)
{
    auto file = OpenFile::open(path);
    if (!file.ok())
        return file.error();
    std::string content;
    std::array<char, 65536> buffer {};
    while (true) {
        const auto count = file.value().read(buffer.data(), buffer.size());
        if (!count)
            return inputError(path, "cannot be read: " + reason(), "check the file and the disk that it is on");
        if (*count == 0)
            return content;
        if (content.size() + *count > limit)
            return inputError(path, "is larger than " + std::to_string(limit) + " bytes",
                              "check that this is the right file");
        content.append(buffer.data(), *count);
    }
}

Status writeFileAtomically(const std::string& path, const std::string& content)
{
    return writeFileAtomically(path, [&](const TextSink& sink) { return sink(content); });
}

Status refuseLink(const std::string& path)
{
    struct stat info { };
    if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode))
        return done();
    return inputError(path, "is a link, which would be written through to another place; nothing is written",
                      "remove the link, or choose another folder");
}

Status writeFileAtomically(const std::string& path, const TextSource& text, Links links)
{
    if (links == Links::Refuse)
        if (auto status = refuseLink(path); !status.ok())
            return status;
    const std::string target = links == Links::Follow ? resolved(path) : path; // a link that comes now is replaced by the rename
    struct stat info { };
    if (::stat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
        return inputError(path, S_ISDIR(info.st_mode) ? "is a folder" : "is not a regular file",
                          "name a file to write to");
    std::string temporary = target + ".XXXXXX";
    const int file = ::mkstemp(temporary.data());
    if (file < 0)
        return inputError(path, "cannot be written in folder " + folderOf(target) + ": " + reason(),
                          "check that the folder exists and its permissions");
    std::string why;
    bool good = writePieces(file, text, why);
    const bool cancelled = !good && why.empty();
    if (good && (::fchmod(file, modeFor(target)) != 0 || ::fsync(file) != 0)) {
        good = false;
        why = reason();
    }
    if (::close(file) != 0 && good) {
        good = false;
        why = reason();
    }
    if (good && ::rename(temporary.c_str(), target.c_str()) != 0) {
        good = false;
        why = reason();
    }
    if (!good)
        ::unlink(temporary.c_str());
    if (cancelled)
        return Cancelled {};
    if (!good)
        return inputError(path, "cannot be written: " + why + " (what was there is untouched)", "make room for it, or name another place");
    syncFolder(folderOf(target));
    return done();
}

} // namespace shardboard
