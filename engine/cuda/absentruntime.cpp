// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/absentruntime.h"

#include "engine/machine/failure.h"

#include <cstring>
#include <sys/mman.h>

namespace shardboard::engine::cuda {

AbsentRuntime::~AbsentRuntime()
{
    for (const auto& [memory, bytes] : m_blocks)
        munmap(memory, bytes);
}

std::byte* AbsentRuntime::allocate(std::int64_t bytes)
{
    const auto size = static_cast<std::size_t>((bytes + 4095) / 4096 * 4096);
    void* memory = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        throw Failure { "memory", "the system gives no addresses for the memory of another process's GPU", "" };
    m_blocks.emplace(static_cast<std::byte*>(memory), size);
    return static_cast<std::byte*>(memory);
}

void AbsentRuntime::release(std::byte* memory)
{
    const auto block = m_blocks.find(memory);
    munmap(memory, block->second);
    m_blocks.erase(block);
}

void AbsentRuntime::download(void* to, const void*, std::int64_t bytes) { std::memset(to, 0, static_cast<std::size_t>(bytes)); }

} // namespace shardboard::engine::cuda
