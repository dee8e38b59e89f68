// SPDX-License-Identifier: Apache-2.0
// All large memory of a run comes from one reserved range of addresses, handed out first-fit. Pages are touched when first
// used and then used again, because first touch is the slowest thing that memory does.
// A planning arena hands out numbers without memory: the run is first walked through with one, and its high-water mark is
// what the run announces and is held to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace shardboard::engine {

class Arena;
class DeviceMemory;

/// A piece of an arena; gives itself back. Movable.
class Block {
public:
    Block() = default;
    Block(Arena* arena, std::int64_t offset, std::int64_t bytes)
        : m_arena(arena)
        , m_offset(offset)
        , m_bytes(bytes)
    {
    }
    Block(Block&& other) noexcept
        : m_arena(std::exchange(other.m_arena, nullptr))
        , m_offset(other.m_offset)
        , m_bytes(other.m_bytes)
    {
    }
    Block& operator=(Block&& other) noexcept;
    ~Block() { release(); }

    /// Null in a planning arena.
    float* floats() const;
    std::byte* memory() const;
    std::int64_t bytes() const { return m_bytes; }
    void release();

private:
    Arena* m_arena = nullptr;
    std::int64_t m_offset = 0;
    std::int64_t m_bytes = 0;
};

class Arena {
public:
    /// A planning arena: unlimited, without memory.
    Arena() = default;
    /// Reserves `capacity` bytes of addresses; touches nothing. Throws Failure "memory" when there are none.
    explicit Arena(std::int64_t capacity);
    /// Hands out memory that is somebody else's.
    Arena(std::byte* memory, std::int64_t capacity);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    /// `bytes` rounded up to the alignment of a vector. Throws Failure "memory" when the capacity does not suffice.
    Block allocate(std::int64_t bytes);
    /// Of `count` floats.
    Block allocateFloats(std::int64_t count);

    /// Called with every stretch of memory before it is handed out for the first time, to have its pages there before
    /// anything that is timed uses them.
    void onFirstUse(std::function<void(std::byte* memory, std::int64_t bytes)> touch) { m_touch = std::move(touch); }

    /// From now on memory holds NaN when it is handed out.
    void poison(bool poisoned);
    /// By somebody who can write there.
    void poisonWith(std::function<void(std::byte* memory, std::int64_t bytes)> poison) { m_poison = std::move(poison); }

    /// Who counts what tensors in this arena hold on each device; null: nobody. Outlives the arena's blocks.
    void countDevices(DeviceMemory* memory) { m_devices = memory; }
    DeviceMemory* deviceMemory() const { return m_devices; }

    bool planning() const { return m_base == nullptr; }
    /// Most bytes of the range that were ever handed out at once, holes between them included.
    std::int64_t highWater() const { return m_highWater; }

private:
    friend class Block;
    void poisonWhereWanted(std::int64_t offset, std::int64_t bytes);
    void giveBack(std::int64_t offset, std::int64_t bytes);

    std::byte* m_base = nullptr;
    bool m_owned = false;
    std::int64_t m_capacity = 0;
    std::int64_t m_end = 0; ///< first byte behind everything that is handed out or a hole
    std::int64_t m_highWater = 0;
    std::function<void(std::byte*, std::int64_t)> m_touch;
    std::function<void(std::byte*, std::int64_t)> m_poison;
    DeviceMemory* m_devices = nullptr;
    std::map<std::int64_t, std::int64_t> m_holes; ///< offset -> bytes, never adjacent
};

} // namespace shardboard::engine
