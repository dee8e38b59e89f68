// SPDX-License-Identifier: Apache-2.0
// Whole files in and out; in by POSIX calls, for exact reasons.
#include "model/io/file/textfile.h"

#include "model/io/file/openfile.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardboard {

namespace {

std::string reason() { return std::strerror(errno); }

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
            return inputError(path, "is larger than " + std::to_string(limit) + " bytes", "check that this is the right file");
        content.append(buffer.data(), *count);
    }
}

Status writeFileAtomically(const std::string& path, const std::string& content)
{
    return writeFileAtomically(path, [&](const TextSink& sink) { return sink(content); });
}

Status writeFileAtomically(const std::string& path, const TextSource& text, Links links)
{
    auto save = FileSave::begin(path, links);
    if (!save.ok())
        return save.error();
    const bool whole = text([&](std::string_view piece) {
        save.value().append(piece);
        return save.value().good();
    });
    if (!whole && save.value().good())
        return Cancelled {};
    return save.value().finish();
}

} // namespace shardboard
