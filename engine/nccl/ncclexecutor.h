// SPDX-License-Identifier: Apache-2.0
// A GPU for every logical device of the mesh: operations by the CUDA backend's kernels on the GPU of the device, everything between
// devices by NCCL, on communicators split per mesh axis. The unsharded reference lies on the first GPU. The GPUs are all in this
// process, or in several: then each of them walks through the whole program and keeps the books of all GPUs, those of other
// processes are absent (cuda/absentruntime.h), and of NCCL's calls each process makes those of its own.
#pragma once

#include "engine/cuda/cudaexecutor.h"
#include "engine/nccl/process.h"
#include "engine/nccl/rankplans.h"

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace shardboard::engine {
class Team;
}

namespace shardboard::engine::nccl {

/// Empty, or what a run on so many logical devices lacks, and what to do about it.
std::string whyTooFew(std::int64_t devices, std::int64_t gpus);

class NcclExecutor : public DeviceExecutor {
public:
    /// All must outlive it. Rank i is gpus[i] and the i-th of the process.
    NcclExecutor(const std::vector<cuda::Runtime*>& gpus, Process& process);

    /// How long NCCL may take for one step before it is given up, in seconds. A rank whose GPU has failed keeps all others waiting.
    void setPatience(double seconds) { m_patience = seconds; }

    /// The processes of the next run; all must outlive it.
    struct Others {
        Team* team = nullptr; ///< null: there are none
        std::vector<int> processes; ///< by rank
        std::vector<std::int64_t> availableBytes; ///< by rank: what its process says with availableOnOwn()
        const std::atomic<bool>* stopped = nullptr; ///< a rank that waits for another one looks at it; null: nobody stops it
    };
    void setOthers(Others others) { m_others = std::move(others); }
    /// What the GPU of a rank of this process has for a run, where so many ranks share it.
    std::int64_t availableOnOwn(std::size_t rank, int sharing) const;

    void check(const Program& program, const RunOptions& options) const override;
    DeviceRanks deviceRanksOf(const Mesh& mesh, const Team* team) const override;
    /// As `GPU 2`, and of another process `GPU 2 (process 1)`.
    std::string nameOf(int rank) const override;
    int processOf(int rank) const override
    {
        return m_others.team == nullptr ? 0 : m_others.processes[static_cast<std::size_t>(rank)];
    }
    std::int64_t availableBytes() const override;
    std::int64_t availableBytesAt(int rank) const override;
    /// With the buffers of the communicators that the programs so far were planned with: NCCL keeps them.
    std::int64_t overheadBytes() const override;
    std::vector<Arena::Segment> reserve(const std::vector<std::int64_t>& bytesByRank, Team* team) override;
    void poison(std::byte* memory, std::int64_t bytes) override;
    double secondsOf(const Work& work, int threads) const override;
    /// Of the first GPU.
    MachineLimits measureLimits(TaskPool& pool) override { return m_gpus.front()->measureLimits(pool); }
    Element elementOf(Rounding rounding) const override { return m_gpus.front()->elementOf(rounding); }

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
    double meanSquare(Context& context, const Sharded& reference) override
    {
        return m_gpus.front()->meanSquare(context, reference);
    }
    /// Where there are several processes, to the first one.
    void bringHere(const Sharded& value, Sharded& there) override;

private:
    struct Part;
    cuda::CudaExecutor& gpuOf(const Context& context, const Sharded& tensor, std::int64_t position) const;
    std::size_t rankOf(const std::byte* memory) const;
    void waitFor(const std::vector<int>& ranks);
    /// Asks NCCL, and waits until the GPUs are done with it. Times by entry of `ranks`.
    Timing timed(const std::vector<int>& ranks, const std::string& where, const std::function<void()>& work);
    Timing move(const Communicator& among, const std::vector<Move>& moves, Element element, const std::vector<int>& ranks,
                const std::string& where);
    void arrive(Context& context, const OpCall& call, const std::vector<std::unique_ptr<Part>>& parts, std::size_t round);
    Communicator ringsOf(const OpCall& call, const DeviceRanks& deviceRanks) const;
    /// Counts one that will be split.
    void expect(const Communicator& communicator) { m_planned.insert(communicator.groups); }
    Sharded broughtToFirst(Context& context, const Sharded& value);
    template <class Do>
    void each(Context& context, Sharded& tensor, Do work);

    std::vector<std::unique_ptr<cuda::CudaExecutor>> m_gpus;
    Process& m_process;
    double m_patience = 120;
    Others m_others;
    std::vector<Arena::Segment> m_heaps; ///< by rank
    std::set<std::vector<std::vector<std::int64_t>>> m_planned; ///< groups of communicators
};

} // namespace shardboard::engine::nccl
