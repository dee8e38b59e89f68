// SPDX-License-Identifier: Apache-2.0
// All logical devices of a mesh on one GPU: their shards in one heap, one launch of a kernel for all of them.
#pragma once

#include "engine/cuda/exchange.h"
#include "engine/cuda/runtime.h"
#include "engine/executor.h"

#include <map>
#include <tuple>

namespace shardboard::engine::cuda {

class CudaExecutor : public Executor {
public:
    /// The runtime must outlive it.
    explicit CudaExecutor(Runtime& runtime);
    ~CudaExecutor() override;
    CudaExecutor(const CudaExecutor&) = delete;
    CudaExecutor& operator=(const CudaExecutor&) = delete;

    void check(const Program& program, const RunOptions& options) const override;
    std::int64_t availableBytes() const override;
    std::int64_t overheadBytes() const override;
    std::byte* reserve(std::int64_t bytes) override;
    void poison(std::byte* memory, std::int64_t bytes) override;
    double secondsOf(const Work& work) const override;
    /// Rates "of one" are of float32 products, "of all" of bfloat16 products; copies are the better of a kernel and the driver.
    MachineLimits measureLimits() override;
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
    void putTogether(Context& context, const Sharded& value, Sharded& whole) override;
    double relativeError(Context& context, const Sharded& y, const Sharded& reference, double among) override;
    double meanSquare(Context& context, const Sharded& reference) override;
    void bringHere(const Sharded& value, Sharded& there) override;

private:
    const float* anglesOf(const OpCall& call, std::int64_t sequence, std::int64_t d);
    Timing exchange(const Sharded& before, const Sharded& after, const std::vector<std::vector<Transfer>>& transfers, bool onto,
                    Sharded* zeroFirst);

    Runtime& m_runtime;
    std::byte* m_heap = nullptr;
    std::int64_t m_heapBytes = 0;
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, double>, const float*> m_angles;
};

} // namespace shardboard::engine::cuda
