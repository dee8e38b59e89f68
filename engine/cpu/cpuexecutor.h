// SPDX-License-Identifier: Apache-2.0
// All logical devices on the threads of this process, or divided among several processes: then each works for the devices of its
// rank, and what it reads of others is shared memory, or was brought by messages (engine/devices/team.h).
#pragma once

#include "engine/devices/executor.h"
#include "engine/machine/reservedmemory.h"

#include <optional>

namespace shardboard::engine {

class CpuExecutor final : public Executor {
public:
    /// `backend`: the only one whose programs it runs.
    explicit CpuExecutor(std::string backend = "cpu");

    void check(const Program& program, const RunOptions& options) const override;
    int workers(int asked) const override;
    DeviceRanks deviceRanksOf(const Mesh& mesh, const Team* team) const override;
    /// Every process is a rank.
    int processOf(int rank) const override { return rank; }
    std::int64_t availableBytes() const override;
    std::int64_t availableToAll(int ranks, const Team* team) const override;
    /// The limits of the machine are measured by the first process, and their memory given back, before the run takes its own.
    std::int64_t bytesAt(int rank, std::int64_t arenaBytes, const Context& planned, bool measures) const override;
    /// The memory of this host, for all of its processes.
    std::vector<MemoryDemand> demandsOf(const std::vector<std::int64_t>& neededByRank, std::int64_t limit,
                                        const Team* team) const override;
    double secondsOf(const Work& work, int threads) const override;
    double secondsOfFirstUse(std::int64_t bytes) const override;
    std::vector<Arena::Segment> reserve(const std::vector<std::int64_t>& bytesByRank, Team* team) override;
    /// Has pages there before anything that is timed uses them.
    void ready(Arena& arena, TaskPool& pool, bool poison) override;
    MachineLimits measureLimits(TaskPool& pool) override;
    /// Asks the machine where the arena is so large that anything could go past its caches.
    std::int64_t cacheShare(std::int64_t arenaBytes) const override;
    Element elementOf(Rounding) const override { return Element::F32; }

    Timing op(Context& context, const OpCall& call, Sharded& result) override;
    Timing reshard(Context& context, const ReshardStep& step, const Sharded& before, bool broken, const std::string& where,
                   Sharded& after) override;
    Timing send(Context& context, const Sharded& value, bool broken, Sharded& there) override;
    void fill(Context& context, const Source& source, Sharded& tensor) override;
    void round(Context& context, Rounding rounding, Sharded& tensor) override;
    void add(Context& context, const Sharded& value, Sharded& sum) override;
    void copy(Context& context, const Sharded& value, Sharded& copy) override;
    void scale(Context& context, float factor, Sharded& tensor) override;
    void assemble(Context& context, const Sharded& value, Sharded& whole) override;
    double relativeError(Context& context, const Sharded& y, const Sharded& reference, double among) override;
    double meanSquare(Context& context, const Sharded& reference) override;
    /// Them, where they lie.
    void show(Context& context, const Sharded& value, const Sharded* unsharded, const Look& look) override;

private:
    std::string m_backend;
    std::optional<ReservedMemory> m_memory; ///< of a run of this process alone
};

} // namespace shardboard::engine
