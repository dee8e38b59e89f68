// SPDX-License-Identifier: Apache-2.0
// The seam for devices with memory of their own, such as GPUs, that do the work of a run in place of the threads of this process.
// The walk through a program is the same for all; where it would compute it asks the context's executor, if there is one.
#pragma once

#include "engine/devices/context.h"
#include "engine/devices/sharded.h"
#include "model/io/wire/profile.h"
#include "model/plan/reshard/reshard.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {
struct Program;
struct RunOptions;
} // namespace shardboard

namespace shardboard::engine {

struct OpCall;

/// Memory of the tensors is the executor's: nobody else reads or writes through it. In a planning context every function checks
/// and counts, takes the scratch memory that it will take, and computes nothing. All throw Failure.
class Executor {
public:
    virtual ~Executor() = default;

    /// Throws Failure "unusable" when a part of the program cannot be executed; asked before anything large is touched.
    virtual void check(const Program& program, const RunOptions& options) const = 0;
    /// Which of its memories has the shards of each device of a mesh: a rank is one of them, and it has one for each GPU.
    virtual DeviceRanks deviceRanksOf(const Mesh&) const { return {}; }
    /// The name of a rank in errors, such as "GPU 2"; empty where there is only one.
    virtual std::string nameOf(int) const { return {}; }
    /// Which of the processes that run the program has the memory of a rank.
    virtual int processOf(int) const { return 0; }
    /// Bytes of its memory that a run may take for its arena now; of the rank that has least.
    virtual std::int64_t availableBytes() const = 0;
    virtual std::int64_t availableBytesAt(int) const { return availableBytes(); }
    /// Memory outside the arena that a run takes, in bytes, at each rank; asked for when the program was walked through.
    virtual std::int64_t overheadBytes() const = 0;
    /// The memory of a run, as long as the executor lives or until the next call. Throws Failure "memory".
    virtual std::byte* reserve(std::int64_t bytes) = 0;
    /// The same for all ranks.
    virtual std::vector<Arena::Segment> reserveAll(const std::vector<std::int64_t>& bytes)
    {
        return { { reserve(bytes.front()), bytes.front() } };
    }
    /// Fills it with NaN.
    virtual void poison(std::byte* memory, std::int64_t bytes) = 0;
    /// A guess of what the work takes, in seconds.
    virtual double secondsOf(const Work& work) const = 0;
    /// Its fastest products and copies, measured now.
    virtual MachineLimits measureLimits() = 0;
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
    /// The same tensor in memory of this process; `there` has such memory.
    virtual void bringHere(const Sharded& value, Sharded& there) = 0;
};

} // namespace shardboard::engine
