// SPDX-License-Identifier: Apache-2.0
// All logical devices of a mesh on one GPU: their shards in one heap, one launch of a kernel for all of them. The NCCL backend has
// one for every GPU, each for the shards of one device (Sharded::shardOf).
#pragma once

#include "engine/cuda/exchange.h"
#include "engine/cuda/preparedop.h"
#include "engine/cuda/runtime.h"
#include "engine/devices/deviceexecutor.h"

#include <map>
#include <tuple>

namespace shardboard::engine::cuda {

class CudaExecutor : public DeviceExecutor {
public:
    /// The runtime must outlive it. `rank`: of its memory in the arenas of its contexts.
    explicit CudaExecutor(Runtime& runtime, int rank = 0);
    ~CudaExecutor() override;
    CudaExecutor(const CudaExecutor&) = delete;
    CudaExecutor& operator=(const CudaExecutor&) = delete;

    void check(const Program& program, const RunOptions& options) const override;
    std::int64_t availableBytes() const override;
    std::int64_t overheadBytes() const override;
    std::vector<Arena::Segment> reserve(const std::vector<std::int64_t>& bytesByRank, Team* team) override;
    std::byte* reserve(std::int64_t bytes);
    void poison(std::byte* memory, std::int64_t bytes) override;
    double secondsOf(const Work& work, int threads) const override;
    /// Rates "of one" are of float32 products, "of all" of bfloat16 products; copies are the better of a kernel and the driver.
    MachineLimits measureLimits(TaskPool& pool) override;
    Element elementOf(Rounding rounding) const override;

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
    void bringHere(const Sharded& value, Sharded& there) override;

    Runtime& runtime() const { return m_runtime; }
    /// The operation with its tables and memory, for who starts it himself; only memory is counted when planning. `call` and
    /// `result` outlive it. `part`: null for all devices.
    std::unique_ptr<PreparedOp> prepare(Context& context, const OpCall& call, Sharded& result, const PartOf* part);

private:
    const float* anglesOf(const OpCall& call, std::int64_t sequence, std::int64_t d);
    Timing exchange(const Sharded& before, const Sharded& after, const std::vector<std::vector<Transfer>>& transfers, bool onto,
                    Sharded* zeroFirst);

    Runtime& m_runtime;
    int m_rank;
    std::byte* m_heap = nullptr;
    std::int64_t m_heapBytes = 0;
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, double>, const float*> m_angles;
};

/// Throws Failure "unusable" when a part of the program is too large for the kernels.
void checkForKernels(const Program& program);
/// The checks and the account of work that the threads of this process make for the same operation.
void planHere(Context& context, const OpCall& call, Sharded& result);
/// Whether an operation only gives a value another name: its copy is the engine's own way, and takes no time.
bool onlyNames(OpKind kind);

} // namespace shardboard::engine::cuda
