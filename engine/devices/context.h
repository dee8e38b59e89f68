// SPDX-License-Identifier: Apache-2.0
// What the parts of a run share: memory, worker threads, and the account of work that becomes the announced seconds.
// The same code walks through a run twice: first planning (a planning arena, no threads, nothing computed), then for real.
#pragma once

#include "engine/devices/arena.h"
#include "engine/machine/cacheshare.h"
#include "engine/machine/clock.h"
#include "engine/machine/taskpool.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shardboard::engine {

class Executor;
class Team;

/// Of a tensor, that one task works on: enough that handing it out takes no time, few enough that all workers have some.
inline constexpr std::int64_t kPieceElements = 1 << 18;

/// What a run does, summed over all logical devices and the reference.
struct Work {
    double flops = 0; ///< in matrix products
    double generated = 0; ///< values made up
    double touched = 0; ///< values read or written outside matrix products
};

struct Context {
    Arena& arena;
    Executor& executor; ///< who does the work, in its memory
    TaskPool* pool = nullptr; ///< null when planning
    int workers = 1;
    Work work;
    bool serial = false; ///< one device's work after the other, on one worker, for times that nothing else disturbs
    Team* team = nullptr; ///< the processes that run the program together; null: this one alone, or planning
    bool sharesReference = false; ///< the processes divide the work on the unsharded reference, which is that of device 0
    std::int64_t cacheShare = kUsualCacheShare; ///< bytes, as measured in cacheshare.h

    /// Whether a step that reads and writes so many bytes in all should write past the caches.
    bool goesPastCaches(std::int64_t bytes) const { return bytes > cacheShare; }
    bool planning() const { return pool == nullptr; }
    /// Scratch memory for all workers, `floats` each; worker w has its own from w * scratchStride(floats).
    Block scratch(std::int64_t floats) { return arena.allocateFloats(scratchStride(floats) * workers); }
    static std::int64_t scratchStride(std::int64_t floats) { return (floats + 63) / 64 * 64; }
    /// Waits for the other processes on this host, if there are any: what they wrote before can be read, and what was read
    /// before may be overwritten.
    void hostBarrier() const;
    /// Whether this process does a task (one of several, counted from 0) of the device at a mesh position.
    bool does(std::size_t task, const Mesh& mesh, std::int64_t position) const;
};

/// As long as it lives, the processes divide the tasks of the unsharded reference among them. Begins with a barrier.
class SharedReference {
public:
    explicit SharedReference(Context& context);
    ~SharedReference() { m_context.sharesReference = m_before; }
    SharedReference(const SharedReference&) = delete;
    SharedReference& operator=(const SharedReference&) = delete;

private:
    Context& m_context;
    bool m_before;
};

/// What the logical devices spent on their shards. Making up data is left out of all seconds.
struct Timing {
    /// When a device was at work, by now(): from the first piece to the end of the last one.
    struct Span {
        double start = 0;
        double end = 0;
        bool worked() const { return end > start; }
    };
    std::vector<double> seconds; ///< of one core, by device
    std::vector<Span> spans; ///< by device
    double combined = 0; ///< seconds of one core of all devices, by the workers that they were spread over
    double wall = 0; ///< by now(), of the worker that had most to do
    /// Messages between hosts that the work waits for. All processes have as many of them, in the same order; where none of a
    /// message goes to or comes from this process, the span has not worked.
    struct Brought {
        Span span;
        double part = 1; ///< of it that counts here: several things may come with one message
    };
    std::vector<Brought> brought;

    double slowest() const;
    std::int64_t slowestDevice() const;
    Timing& operator+=(const Timing& more);
    /// This part of it, where several things were done at once.
    Timing share(double part) const;
};

/// Runs `task(index, worker)` for each entry of `devices`, the position in the mesh of the logical device that the task works
/// for; of those the ones that this process does. The task returns the seconds that are not to be counted (making up data). In a
/// serial context device after device, on one worker.
Timing runTimed(Context& context, const Mesh& mesh, const std::vector<std::int64_t>& devices,
                const std::function<double(std::size_t index, int worker)>& task);
/// The same untimed and without an order.
void runTasks(Context& context, const Mesh& mesh, const std::vector<std::int64_t>& devices,
              const std::function<void(std::size_t index, int worker)>& task);

} // namespace shardboard::engine
