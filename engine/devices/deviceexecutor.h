// SPDX-License-Identifier: Apache-2.0
// What executors have in common whose tensors lie in memory that the threads of this process cannot read, such as that of GPUs.
#pragma once

#include "engine/devices/executor.h"

namespace shardboard::engine {

/// One memory in one process, unless a function says otherwise.
class DeviceExecutor : public Executor {
public:
    /// Memory outside the arena that a run takes, in bytes, at each rank; asked for when the program was walked through.
    virtual std::int64_t overheadBytes() const = 0;
    virtual std::int64_t availableBytesAt(int) const { return availableBytes(); }
    /// The name of a rank in errors; empty where there is only one.
    virtual std::string nameOf(int) const { return {}; }
    /// Fills memory with NaN.
    virtual void poison(std::byte* memory, std::int64_t bytes) = 0;
    /// The same tensor in memory of this process; `there` has such memory.
    virtual void bringHere(const Sharded& value, Sharded& there) = 0;

    /// One, which keeps the device busy.
    int workers(int) const override { return 1; }
    DeviceRanks deviceRanksOf(const Mesh&, const Team*) const override { return {}; }
    int processOf(int) const override { return 0; }
    std::int64_t availableToAll(int ranks, const Team* team) const override;
    std::int64_t bytesAt(int, std::int64_t arenaBytes, const Context&, bool) const override { return arenaBytes + overheadBytes(); }
    /// Each memory has to do with what lies there.
    std::vector<MemoryDemand> demandsOf(const std::vector<std::int64_t>& neededByRank, std::int64_t limit,
                                        const Team* team) const override;
    double secondsOfFirstUse(std::int64_t) const override { return 0; }
    void ready(Arena& arena, TaskPool& pool, bool poison) override;
    std::int64_t cacheShare(std::int64_t) const override { return kUsualCacheShare; }
    /// Copies of them.
    void show(Context& context, const Sharded& value, const Sharded* unsharded, const Look& look) override;
};

} // namespace shardboard::engine
