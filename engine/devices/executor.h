// SPDX-License-Identifier: Apache-2.0
// The seam between the walk through a program, which is the same for all, and who does its work in which memory: the threads of
// this process (engine/cpu), or a device with memory of its own, such as GPUs (deviceexecutor.h). Every context has one.
#pragma once

#include "engine/devices/context.h"
#include "engine/devices/sharded.h"
#include "model/io/wire/profile.h"
#include "model/plan/reshard/reshard.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shardboard {
struct Program;
struct RunOptions;
} // namespace shardboard

namespace shardboard::engine {

struct OpCall;

/// A memory that a run takes from.
struct MemoryDemand {
    std::string name; ///< in errors, such as "GPU 2"; empty where there is only one
    std::int64_t bytes = 0; ///< that the run needs
    std::int64_t available = 0;
};

/// What a run says of itself before it takes memory, and what it asks for while it runs. `team`: the processes that run the
/// program together, null for this one alone. Memory of the tensors is the executor's: nobody else reads or writes through it. In a
/// planning context every function checks and counts, takes the scratch memory that it will take, and computes nothing. All throw
/// Failure.
class Executor {
public:
    virtual ~Executor() = default;

    /// Throws Failure when the options or a part of the program cannot be executed; asked before anything large is touched.
    virtual void check(const Program& program, const RunOptions& options) const = 0;
    /// Threads of this process for a run that asks for so many; 0: as many as the executor wants.
    virtual int workers(int asked) const = 0;
    /// Which of its memories has the shards of each device of a mesh: a rank is one of them.
    virtual DeviceRanks deviceRanksOf(const Mesh& mesh, const Team* team) const = 0;
    /// Which of the processes has the memory of a rank.
    virtual int processOf(int rank) const = 0;
    /// Bytes that a run may take for its arena now; of the rank that has least.
    virtual std::int64_t availableBytes() const = 0;
    /// The same of so many ranks together, if all have as much as those that can be asked.
    virtual std::int64_t availableToAll(int ranks, const Team* team) const = 0;
    /// Bytes that a run takes at a rank: its arena and what lies outside of it. `planned` is where the program was walked through,
    /// `measures` whether the run measures the machine's limits.
    virtual std::int64_t bytesAt(int rank, std::int64_t arenaBytes, const Context& planned, bool measures) const = 0;
    /// The memories that have to do with what the ranks need. `limit`: what there is, in place of what can be found out; 0: none.
    virtual std::vector<MemoryDemand> demandsOf(const std::vector<std::int64_t>& neededByRank, std::int64_t limit,
                                                const Team* team) const = 0;
    /// A guess of what the work takes with so many threads of all processes, in seconds.
    virtual double secondsOf(const Work& work, int threads) const = 0;
    /// The same of memory that is used for the first time.
    virtual double secondsOfFirstUse(std::int64_t bytes) const = 0;
    /// The memory of a run at each rank, as long as the executor lives or until the next call. Throws Failure "memory".
    virtual std::vector<Arena::Segment> reserve(const std::vector<std::int64_t>& bytesByRank, Team* team) = 0;
    /// Tells an arena of that memory what to do with what it hands out. `poison`: fills it with NaN. The pool outlives the arena.
    virtual void ready(Arena& arena, TaskPool& pool, bool poison) = 0;
    /// Its fastest products and copies, measured now.
    virtual MachineLimits measureLimits(TaskPool& pool) = 0;
    /// Bytes that a step may read and write before it goes past the caches, in a run with so large an arena.
    virtual std::int64_t cacheShare(std::int64_t arenaBytes) const = 0;
    /// How values that are rounded like this lie in its memory.
    virtual Element elementOf(Rounding rounding) const = 0;

    virtual Timing op(Context& context, const OpCall& call, Sharded& result) = 0;
    /// `after` has memory and the layout that the step leads to.
    virtual Timing reshard(Context& context, const ReshardStep& step, const Sharded& before, bool broken, const std::string& where,
                           Sharded& after) = 0;
    /// To the devices of another stage, shard by shard; zeros where it is broken.
    virtual Timing send(Context& context, const Sharded& value, bool broken, Sharded& there) = 0;
    /// Makes the values of a source.
    virtual void fill(Context& context, const Source& source, Sharded& tensor) = 0;
    virtual void round(Context& context, Rounding rounding, Sharded& tensor) = 0;
    /// sum += value.
    virtual void add(Context& context, const Sharded& value, Sharded& sum) = 0;
    virtual void copy(Context& context, const Sharded& value, Sharded& copy) = 0;
    virtual void scale(Context& context, float factor, Sharded& tensor) = 0;
    /// Writes the shards of `value`, of which none is partial, into a tensor that lies whole on one device.
    virtual void assemble(Context& context, const Sharded& value, Sharded& whole) = 0;
    /// As in compare.h.
    virtual double relativeError(Context& context, const Sharded& y, const Sharded& reference, double among) = 0;
    virtual double meanSquare(Context& context, const Sharded& reference) = 0;
    /// Called with a tensor and that of the reference, which may be null.
    using Look = std::function<void(const Sharded& value, const Sharded* unsharded)>;
    /// Has every process look at both, in memory that the first one can read all of. Nobody looks when planning.
    virtual void show(Context& context, const Sharded& value, const Sharded* unsharded, const Look& look) = 0;
};

} // namespace shardboard::engine
