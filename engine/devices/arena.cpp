// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/arena.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace shardboard::engine {

namespace {
constexpr std::int64_t kAlignment = 256;
} // namespace

Block& Block::operator=(Block&& other) noexcept
{
    if (this != &other) {
        release();
        m_arena = std::exchange(other.m_arena, nullptr);
        m_pieces = std::move(other.m_pieces);
    }
    return *this;
}

std::byte* Block::memory() const { return m_arena == nullptr ? nullptr : memory(m_arena->m_deviceRanks.own()); }

std::byte* Block::memory(int rank) const
{
    if (m_arena == nullptr)
        return nullptr;
    std::byte* base = m_arena->m_ranges[static_cast<std::size_t>(rank)].base;
    return base == nullptr ? nullptr : base + m_pieces[static_cast<std::size_t>(rank)].offset;
}

std::int64_t Block::bytes() const
{
    return m_arena == nullptr ? 0 : m_pieces[static_cast<std::size_t>(m_arena->m_deviceRanks.own())].bytes;
}

void Block::release()
{
    for (std::size_t rank = 0; m_arena != nullptr && rank < m_pieces.size(); ++rank)
        if (m_pieces[rank].bytes > 0)
            Arena::giveBack(m_arena->m_ranges[rank], m_pieces[rank].offset, m_pieces[rank].bytes);
    m_arena = nullptr;
}

Arena::Arena(DeviceRanks deviceRanks)
    : m_deviceRanks(std::move(deviceRanks))
    , m_ranges(static_cast<std::size_t>(m_deviceRanks.rankCount()))
{
}

Arena::Arena(std::byte* memory, std::int64_t capacity)
    : m_planning(memory == nullptr)
{
    m_ranges.front().base = memory;
    m_ranges.front().capacity = capacity;
}

Arena::Arena(DeviceRanks deviceRanks, const std::vector<Segment>& segments)
    : m_deviceRanks(std::move(deviceRanks))
    , m_ranges(segments.size())
    , m_planning(false)
{
    for (std::size_t rank = 0; rank < segments.size(); ++rank) {
        m_ranges[rank].base = segments[rank].base;
        m_ranges[rank].capacity = segments[rank].capacity;
    }
}

Arena::Arena(std::int64_t capacity)
    : m_planning(false)
{
    m_owned.emplace(std::max<std::int64_t>(capacity, kAlignment));
    m_ranges.front().base = m_owned->memory();
    m_ranges.front().capacity = m_owned->bytes();
}

std::int64_t Arena::highWater() const
{
    std::int64_t sum = 0;
    for (const Range& range : m_ranges)
        sum += range.highWater;
    return sum;
}

Block Arena::allocate(std::int64_t bytes)
{
    return allocateAt(std::vector<std::int64_t>(m_ranges.size(), bytes == 0 ? kAlignment : bytes));
}

Block Arena::allocateOn(int rank, std::int64_t bytes)
{
    std::vector<std::int64_t> wanted(m_ranges.size(), 0);
    wanted[static_cast<std::size_t>(rank)] = bytes == 0 ? kAlignment : bytes;
    return allocateAt(wanted);
}

Block Arena::allocateAt(const std::vector<std::int64_t>& bytes)
{
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
    Range& mine = m_ranges[static_cast<std::size_t>(m_deviceRanks.own())];
    const std::int64_t before = mine.highWater;
    Block block(
        this,
        std::vector<Block::Piece>(m_ranges.size())); // gives back what it has should there be no more, or touching it be cancelled
    for (std::size_t rank = 0; rank < m_ranges.size(); ++rank) {
        if (bytes[rank] < 0 || bytes[rank] > kMost)
            throw Failure { "memory", "the run needs more memory than can be counted", "" };
        const std::int64_t rounded = (bytes[rank] + kAlignment - 1) / kAlignment * kAlignment;
        if (rounded > 0)
            block.m_pieces[rank] = { take(m_ranges[rank], rounded), rounded };
    }
    if (planning() && m_limit > 0 && highWater() > m_limit)
        throw m_refusal(highWater());
    if (m_touch && !planning() && mine.highWater > before)
        m_touch(mine.base + before, mine.highWater - before);
    for (std::size_t rank = 0; m_poison && !planning() && rank < m_ranges.size(); ++rank)
        if (const Block::Piece& piece = block.m_pieces[rank]; piece.bytes > 0 && (m_poisonsAll || &m_ranges[rank] == &mine))
            m_poison(m_ranges[rank].base + piece.offset, piece.bytes);
    return block;
}

void Arena::poison(bool poisoned)
{
    constexpr int kOfNaN = 0xff; // four or two of them are a NaN in every float type
    m_poison = {};
    m_poisonsAll = false;
    if (poisoned)
        m_poison = [](std::byte* memory, std::int64_t bytes) { std::memset(memory, kOfNaN, static_cast<std::size_t>(bytes)); };
}

std::int64_t Arena::take(Range& range, std::int64_t bytes) const
{
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
    if (range.end > kMost)
        throw Failure { "memory", "the run needs more memory than can be counted", "" };
    // Blocks that are given back in any order leave at most one hole more than there are blocks left.
    if (range.holes.capacity() < range.blocks + 2)
        range.holes.reserve(2 * (range.blocks + 2));
    const auto hole = std::find_if(range.holes.begin(), range.holes.end(), [&](const Range::Hole& h) { return h.bytes >= bytes; });
    if (hole != range.holes.end()) {
        const std::int64_t offset = hole->offset;
        hole->offset += bytes;
        hole->bytes -= bytes;
        if (hole->bytes == 0)
            range.holes.erase(hole);
        ++range.blocks;
        return offset;
    }
    std::int64_t offset = range.end;
    const bool grows = !range.holes.empty() && range.holes.back().offset + range.holes.back().bytes == range.end;
    if (grows)
        offset = range.holes.back().offset; // grow the last hole instead of leaving it
    if (!planning() && offset + bytes > range.capacity)
        throw Failure { "memory", "the run wants more than the " + std::to_string(range.capacity) + " bytes it announced", "" };
    if (grows)
        range.holes.pop_back();
    range.end = offset + bytes;
    range.highWater = std::max(range.highWater, range.end);
    ++range.blocks;
    return offset;
}

Block Arena::allocateFloats(std::int64_t count)
{
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 16;
    return allocate(std::min(std::max<std::int64_t>(count, 0), kMost) * static_cast<std::int64_t>(sizeof(float)));
}

void Arena::giveBack(Range& range, std::int64_t offset, std::int64_t bytes) noexcept
{
    --range.blocks;
    auto next = std::lower_bound(range.holes.begin(), range.holes.end(), offset,
                                 [](const Range::Hole& hole, std::int64_t at) { return hole.offset < at; });
    const bool joinsNext = next != range.holes.end() && offset + bytes == next->offset;
    if (next != range.holes.begin()) {
        const auto previous = std::prev(next);
        if (previous->offset + previous->bytes == offset) {
            previous->bytes += bytes + (joinsNext ? next->bytes : 0);
            if (joinsNext)
                range.holes.erase(next);
            return;
        }
    }
    if (joinsNext)
        *next = { offset, bytes + next->bytes };
    else
        range.holes.insert(next, { offset, bytes }); // there is room
}

} // namespace shardboard::engine
