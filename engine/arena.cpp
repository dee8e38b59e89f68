// SPDX-License-Identifier: Apache-2.0
#include "engine/arena.h"

#include "engine/failure.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <sys/mman.h>

namespace shardboard::engine {

namespace {
constexpr std::int64_t kAlignment = 256;
} // namespace

Block& Block::operator=(Block&& other) noexcept
{
    if (this != &other) {
        release();
        m_arena = std::exchange(other.m_arena, nullptr);
        m_offset = other.m_offset;
        m_bytes = other.m_bytes;
    }
    return *this;
}

std::byte* Block::memory() const
{
    return m_arena == nullptr || m_arena->m_base == nullptr ? nullptr : m_arena->m_base + m_offset;
}

float* Block::floats() const { return reinterpret_cast<float*>(memory()); }

void Block::release()
{
    if (m_arena != nullptr)
        m_arena->giveBack(m_offset, m_bytes);
    m_arena = nullptr;
}

Arena::Arena(std::int64_t capacity)
    : m_capacity(std::max<std::int64_t>(capacity, kAlignment))
{
    void* memory = mmap(nullptr, static_cast<std::size_t>(m_capacity), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        throw Failure { "memory", "the system gives no room for " + std::to_string(m_capacity) + " bytes", "" };
    madvise(memory, static_cast<std::size_t>(m_capacity), MADV_HUGEPAGE); // only an advice: without it, it is slower
    m_base = static_cast<std::byte*>(memory);
    m_owned = true;
}

Arena::Arena(std::byte* memory, std::int64_t capacity)
    : m_base(memory)
    , m_capacity(capacity)
{
}

Arena::~Arena()
{
    if (m_owned)
        munmap(m_base, static_cast<std::size_t>(m_capacity));
}

Block Arena::allocate(std::int64_t bytes)
{
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
    if (bytes < 0 || bytes > kMost || m_end > kMost)
        throw Failure { "memory", "the run needs more memory than can be counted", "" };
    bytes = std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    for (auto hole = m_holes.begin(); hole != m_holes.end(); ++hole) {
        if (hole->second < bytes)
            continue;
        const std::int64_t offset = hole->first;
        const std::int64_t rest = hole->second - bytes;
        m_holes.erase(hole);
        if (rest > 0)
            m_holes.emplace(offset + bytes, rest);
        poisonWhereWanted(offset, bytes);
        return Block(this, offset, bytes);
    }
    std::int64_t offset = m_end;
    if (!m_holes.empty() && m_holes.rbegin()->first + m_holes.rbegin()->second == m_end) {
        offset = m_holes.rbegin()->first; // grow the last hole instead of leaving it
        m_holes.erase(offset);
    }
    if (!planning() && offset + bytes > m_capacity)
        throw Failure { "memory", "the run wants more than the " + std::to_string(m_capacity) + " bytes it announced", "" };
    m_end = offset + bytes;
    Block block(this, offset, bytes); // given back should touching it be cancelled
    if (m_end > m_highWater) {
        const std::int64_t before = m_highWater;
        m_highWater = m_end;
        if (m_touch && !planning())
            m_touch(m_base + before, m_highWater - before);
    }
    poisonWhereWanted(offset, bytes);
    return block;
}

void Arena::poison(bool poisoned)
{
    constexpr int kOfNaN = 0xff; // four or two of them are a NaN in every float type
    m_poison = {};
    if (poisoned)
        m_poison = [](std::byte* memory, std::int64_t bytes) { std::memset(memory, kOfNaN, static_cast<std::size_t>(bytes)); };
}

void Arena::poisonWhereWanted(std::int64_t offset, std::int64_t bytes)
{
    if (m_poison && !planning())
        m_poison(m_base + offset, bytes);
}

Block Arena::allocateFloats(std::int64_t count)
{
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 16;
    return allocate(std::min(std::max<std::int64_t>(count, 0), kMost) * static_cast<std::int64_t>(sizeof(float)));
}

void Arena::giveBack(std::int64_t offset, std::int64_t bytes)
{
    auto next = m_holes.lower_bound(offset);
    if (next != m_holes.end() && offset + bytes == next->first) {
        bytes += next->second;
        next = m_holes.erase(next);
    }
    if (next != m_holes.begin()) {
        const auto previous = std::prev(next);
        if (previous->first + previous->second == offset) {
            previous->second += bytes;
            return;
        }
    }
    m_holes.emplace(offset, bytes);
}

} // namespace shardboard::engine
