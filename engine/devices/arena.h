// SPDX-License-Identifier: Apache-2.0
// All large memory of a run comes from one reserved range of addresses, handed out first-fit. Pages are touched when first
// used and then used again, because first touch is the slowest thing that memory does.
// A planning arena hands out numbers without memory: the run is first walked through with one, and its high-water mark is
// what the run announces and is held to.
// Where several processes run a program, each has a range of its own, and all of them keep the books of all
// ranges: they go through the same allocations, so that each knows without asking where another has put something.
#pragma once

#include "engine/devices/deviceranks.h"
#include "engine/machine/failure.h"
#include "engine/machine/reservedmemory.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace shardboard::engine {

class Arena;
class DeviceMemory;

/// A piece of an arena, or of the range of every rank; gives itself back. Movable.
class Block {
public:
    struct Piece {
        std::int64_t offset = 0;
        std::int64_t bytes = 0; ///< 0: nothing at this rank
    };

    Block() = default;
    Block(Arena* arena, std::vector<Piece> pieces)
        : m_arena(arena)
        , m_pieces(std::move(pieces))
    {
    }
    Block(Block&& other) noexcept
        : m_arena(std::exchange(other.m_arena, nullptr))
        , m_pieces(std::move(other.m_pieces))
    {
    }
    Block& operator=(Block&& other) noexcept;
    ~Block() { release(); }

    /// What lies in the range of this process. Null in a planning arena.
    std::byte* memory() const;
    float* floats() const { return reinterpret_cast<float*>(memory()); }
    /// What lies in the range of that rank; null where its memory cannot be seen from here.
    std::byte* memory(int rank) const;
    std::int64_t bytes() const; ///< in the range of this process
    void release();

private:
    friend class Arena;
    Arena* m_arena = nullptr;
    std::vector<Piece> m_pieces; ///< by rank
};

class Arena {
public:
    /// The memory of a rank, as it is seen from this process.
    struct Segment {
        std::byte* base = nullptr; ///< null: not to be seen from here
        std::int64_t capacity = 0; ///< bytes
    };

    /// A planning arena: without memory, unlimited unless it is limited.
    Arena() = default;
    explicit Arena(DeviceRanks deviceRanks);
    /// Reserves `capacity` bytes of addresses; touches nothing. Throws Failure "memory" when there are none.
    explicit Arena(std::int64_t capacity);
    /// Hands out memory that is somebody else's.
    Arena(std::byte* memory, std::int64_t capacity);
    /// The same for several ranks.
    Arena(DeviceRanks deviceRanks, const std::vector<Segment>& segments);
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    /// `bytes` rounded up to the alignment of a vector, at every rank. Throws Failure "memory" when the capacity does not suffice.
    Block allocate(std::int64_t bytes);
    /// Of `count` floats.
    Block allocateFloats(std::int64_t count);
    /// The same at one rank alone.
    Block allocateOn(int rank, std::int64_t bytes);
    /// `bytes[rank]` at each rank, possibly none.
    Block allocateAt(const std::vector<std::int64_t>& bytes);

    /// A planning arena hands out no more than that: whoever plans has seen enough then. Throws what `refusal` says of the bytes
    /// that all ranks need at least.
    void limit(std::int64_t bytes, std::function<Failure(std::int64_t needed)> refusal)
    {
        m_limit = bytes;
        m_refusal = std::move(refusal);
    }

    /// Called with every stretch of memory of this process before it is handed out for the first time, to have its pages there
    /// before anything that is timed uses them.
    void onFirstUse(std::function<void(std::byte* memory, std::int64_t bytes)> touch) { m_touch = std::move(touch); }

    /// From now on memory holds NaN when it is handed out.
    void poison(bool poisoned);
    /// By somebody who can write there, at every rank.
    void poisonWith(std::function<void(std::byte* memory, std::int64_t bytes)> poison)
    {
        m_poison = std::move(poison);
        m_poisonsAll = true;
    }

    /// Who counts what tensors in this arena hold on each device; null: nobody. Outlives the arena's blocks.
    void countDevices(DeviceMemory* memory) { m_devices = memory; }
    DeviceMemory* deviceMemory() const { return m_devices; }

    const DeviceRanks& deviceRanks() const { return m_deviceRanks; }
    bool planning() const { return m_planning; }
    /// Most bytes of the range that were ever handed out at once, holes between them included; of all ranks together.
    std::int64_t highWater() const;
    std::int64_t highWater(int rank) const { return m_ranges[static_cast<std::size_t>(rank)].highWater; }

private:
    friend class Block;
    struct Range {
        std::byte* base = nullptr;
        std::int64_t capacity = 0;
        std::int64_t end = 0; ///< first byte behind everything that is handed out or a hole
        std::int64_t highWater = 0;
        struct Hole {
            std::int64_t offset = 0;
            std::int64_t bytes = 0;
        };
        std::vector<Hole> holes; ///< by offset, never adjacent; with room for one more than there are blocks
        std::size_t blocks = 0; ///< handed out
    };
    std::int64_t take(Range& range, std::int64_t bytes) const;
    /// Takes no memory, because destructors call it.
    static void giveBack(Range& range, std::int64_t offset, std::int64_t bytes) noexcept;

    DeviceRanks m_deviceRanks;
    std::vector<Range> m_ranges = std::vector<Range>(1); ///< by rank
    std::int64_t m_limit = 0; ///< 0: none
    std::function<Failure(std::int64_t)> m_refusal;
    bool m_planning = true;
    std::optional<ReservedMemory> m_owned;
    std::function<void(std::byte*, std::int64_t)> m_touch;
    std::function<void(std::byte*, std::int64_t)> m_poison;
    bool m_poisonsAll = false; ///< not this process's memory alone
    DeviceMemory* m_devices = nullptr;
};

} // namespace shardboard::engine
