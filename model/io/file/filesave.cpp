// SPDX-License-Identifier: Apache-2.0
// By POSIX calls, because durability (fsync), locks and exact reasons are what this file is about.
#include "model/io/file/filesave.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardboard {

namespace {

/// Short, so that a file whose name is as long as names can be is saved, too.
constexpr std::string_view kTemporaryName = ".shardboard-saving-";
constexpr std::size_t kRandomLetters = 6; // of mkstemp

std::string folderOf(const std::string& path)
{
    const auto slash = path.rfind('/');
    if (slash == std::string::npos)
        return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

std::string inFolder(const std::string& folder, const std::string& name)
{
    return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

/// Where a save has to go: links are followed, also one to a file that is not there yet.
std::string resolved(std::string path)
{
    constexpr int kMostLinks = 40; // as the kernel follows
    for (int i = 0; i < kMostLinks; ++i) {
        std::array<char, 4096> buffer;
        const ssize_t length = ::readlink(path.c_str(), buffer.data(), buffer.size());
        if (length <= 0 || static_cast<std::size_t>(length) == buffer.size())
            break;
        const std::string to(buffer.data(), static_cast<std::size_t>(length));
        path = to.starts_with('/') ? to : inFolder(folderOf(path), to);
    }
    return path;
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

bool isTemporary(std::string_view name)
{
    return name.size() == kTemporaryName.size() + kRandomLetters && name.starts_with(kTemporaryName);
}

/// Who saves holds a lock on the temporary file, which ends with the process: one that is not locked is nobody's any
/// more.
void removeAbandoned(const std::string& folder)
{
    DIR* list = ::opendir(folder.c_str());
    if (list == nullptr)
        return;
    while (const dirent* entry = ::readdir(list)) {
        if (!isTemporary(entry->d_name))
            continue;
        constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
        int file = ::openat(::dirfd(list), entry->d_name, O_RDWR | kFlags); // network file systems lock no other
        if (file < 0)
            file = ::openat(::dirfd(list), entry->d_name, O_RDONLY | kFlags);
        if (file < 0)
            continue;
        struct stat info { };
        if (::fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid()
            && ::flock(file, LOCK_EX | LOCK_NB) == 0)
            ::unlinkat(::dirfd(list), entry->d_name, 0);
        ::close(file);
    }
    ::closedir(list);
}

/// A new file, locked; -1 and errno when there cannot be one. `path` gets its name in place of the X.
int openTemporary(const std::string& folder, std::string& path)
{
    constexpr int kTries = 16;
    for (int i = 0; i < kTries; ++i) {
        path = inFolder(folder, std::string(kTemporaryName) + std::string(kRandomLetters, 'X'));
        const int file = ::mkostemp(path.data(), O_CLOEXEC);
        if (file < 0)
            return -1;
        // Where there are no locks the file is as good without, but stays when we are killed. Between its making and
        // the lock another process may have taken it for an abandoned one.
        const bool locked = ::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        struct stat info { };
        if (locked && ::fstat(file, &info) == 0 && info.st_nlink > 0)
            return file;
        ::close(file);
    }
    errno = EBUSY;
    return -1;
}

} // namespace

Status refuseLink(const std::string& path)
{
    struct stat info { };
    if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode))
        return done();
    return inputError(path, "is a link, which would be written through to another place; nothing is written",
                      "remove the link, or choose another folder");
}

Result<FileSave> FileSave::begin(const std::string& path, Links links)
{
    if (links == Links::Refuse)
        if (auto status = refuseLink(path); !status.ok())
            return status.error();
    const std::string target = links == Links::Follow ? resolved(path) : path; // a link that comes now is replaced by the rename
    struct stat info { };
    if (::stat(target.c_str(), &info) != 0 && (errno == ENAMETOOLONG || errno == ELOOP))
        return inputError(path, "cannot be written: " + std::string(std::strerror(errno)), "choose another name");
    if (info.st_mode != 0 && !S_ISREG(info.st_mode))
        return inputError(path, S_ISDIR(info.st_mode) ? "is a folder" : "is not a regular file", "name a file to write to");
    const std::string folder = folderOf(target);
    removeAbandoned(folder);
    std::string temporary;
    const int file = openTemporary(folder, temporary);
    if (file < 0)
        return inputError(path, "cannot be written in folder " + folder + ": " + std::strerror(errno),
                          "check that the folder exists and its permissions");
    return FileSave(path, target, std::move(temporary), file);
}

FileSave::FileSave(FileSave&& other) noexcept
    : m_path(std::move(other.m_path))
    , m_target(std::move(other.m_target))
    , m_temporary(std::move(other.m_temporary))
    , m_file(other.m_file)
    , m_problem(other.m_problem)
    , m_waiting(std::move(other.m_waiting))
{
    other.m_file = -1;
}

FileSave::~FileSave() { discard(); }

void FileSave::append(std::string_view text)
{
    constexpr std::size_t kPiece = std::size_t { 1 } << 18;
    if (m_waiting.size() + text.size() > kPiece) {
        write(m_waiting);
        m_waiting.clear();
    }
    if (text.size() > kPiece)
        write(text);
    else
        m_waiting += text;
}

void FileSave::write(std::string_view text)
{
    while (!text.empty() && m_problem == 0) {
        const ssize_t count = ::write(m_file, text.data(), text.size());
        if (count == 0 || (count < 0 && errno != EINTR))
            m_problem = count == 0 ? EIO : errno;
        if (count > 0)
            text.remove_prefix(static_cast<std::size_t>(count));
    }
}

Status FileSave::finish()
{
    write(m_waiting);
    // Renamed before it is closed, because closing ends the lock.
    if (m_problem == 0
        && (::fchmod(m_file, modeFor(m_target)) != 0 || ::fsync(m_file) != 0
            || ::rename(m_temporary.c_str(), m_target.c_str()) != 0))
        m_problem = errno;
    if (m_problem != 0) {
        discard();
        return inputError(m_path, "cannot be written: " + std::string(std::strerror(m_problem)) + " (what was there is untouched)",
                          "make room for it, or name another place");
    }
    ::close(std::exchange(m_file, -1));
    syncFolder(folderOf(m_target));
    return done();
}

void FileSave::discard()
{
    if (m_file < 0)
        return;
    ::unlink(m_temporary.c_str());
    ::close(std::exchange(m_file, -1));
}

} // namespace shardboard
