// SPDX-License-Identifier: Apache-2.0
#include "engine/machine/reservedmemory.h"

#include "engine/machine/failure.h"

#include <string>
#include <sys/mman.h>

namespace shardboard::engine {

ReservedMemory::ReservedMemory(std::int64_t bytes)
    : m_bytes(bytes)
{
    void* memory =
        mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        throw Failure { "memory", "the system gives no room for " + std::to_string(bytes) + " bytes; " + kMoreMemory, "" };
    madvise(memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE); // only an advice: without it, it is slower
    m_memory = static_cast<std::byte*>(memory);
}

ReservedMemory::~ReservedMemory() { munmap(m_memory, static_cast<std::size_t>(m_bytes)); }

} // namespace shardboard::engine
