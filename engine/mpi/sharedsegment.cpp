// SPDX-License-Identifier: Apache-2.0
#include "engine/mpi/sharedsegment.h"

#include <algorithm>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace shardboard::engine::mpi {

std::optional<SharedSegment> SharedSegment::map(int descriptor, std::int64_t bytes)
{
    const int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void* memory = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, descriptor, 0);
    if (memory == MAP_FAILED)
        return std::nullopt;
    SharedSegment out;
    out.m_memory = static_cast<std::byte*>(memory);
    out.m_bytes = bytes;
    return out;
}

std::optional<SharedSegment> SharedSegment::make(std::int64_t bytes)
{
    bytes = std::max<std::int64_t>(bytes, 4096);
    const int descriptor = memfd_create("shardboard", MFD_CLOEXEC);
    if (descriptor < 0)
        return std::nullopt;
    auto out = ftruncate(descriptor, bytes) == 0 ? map(descriptor, bytes) : std::nullopt;
    if (!out) {
        close(descriptor);
        return std::nullopt;
    }
    madvise(out->m_memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE); // only an advice
    out->m_descriptor = descriptor;
    return out;
}

std::optional<SharedSegment> SharedSegment::of(std::int64_t process, int descriptor, std::int64_t bytes)
{
    const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
    const int opened = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (opened < 0)
        return std::nullopt;
    auto out = map(opened, std::max<std::int64_t>(bytes, 4096));
    close(opened); // the mapping keeps the memory
    return out;
}

std::optional<SharedSegment> SharedSegment::own(std::int64_t bytes) { return map(-1, std::max<std::int64_t>(bytes, 4096)); }

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : m_memory(std::exchange(other.m_memory, nullptr))
    , m_bytes(std::exchange(other.m_bytes, 0))
    , m_descriptor(std::exchange(other.m_descriptor, -1))
{
}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept
{
    std::swap(m_memory, other.m_memory);
    std::swap(m_bytes, other.m_bytes);
    std::swap(m_descriptor, other.m_descriptor);
    return *this;
}

SharedSegment::~SharedSegment()
{
    if (m_memory != nullptr)
        munmap(m_memory, static_cast<std::size_t>(m_bytes));
    if (m_descriptor >= 0)
        close(m_descriptor);
}

} // namespace shardboard::engine::mpi
