// SPDX-License-Identifier: Apache-2.0
// A GPU that another process has. Its memory is addresses that nobody can reach, so that the books of all GPUs are the same in
// every process; whatever it is asked to do is done by the process that has it.
#pragma once

#include "engine/cuda/runtime.h"

#include <map>

namespace shardboard::engine::cuda {

class AbsentRuntime : public Runtime {
public:
    ~AbsentRuntime() override;

    std::string name() const override { return "a GPU of another process"; }
    std::int64_t freeBytes() const override { return 0; }
    std::int64_t totalBytes() const override { return 0; }
    double flopsGuess(bool) const override { return 1e13; }
    double bytesGuess() const override { return 1e12; }

    std::byte* allocate(std::int64_t bytes) override;
    void release(std::byte* memory) override;
    void set(void*, int, std::int64_t) override { }
    void copy(void*, const void*, std::int64_t) override { }
    /// Zeros.
    void download(void* to, const void* from, std::int64_t bytes) override;
    const void* table(const void* bytes, std::int64_t) override { return bytes; }
    void wait() override { }
    void beginTimed() override { }
    double endTimed() override { return 0; }
    void gemm(const Gemm&) override { }
#define SHARDBOARD_CUDA_LAUNCH(Body)                                                                                               \
    void launch(const Body&, const Grid&) override { }
    SHARDBOARD_CUDA_BODIES(SHARDBOARD_CUDA_LAUNCH)
#undef SHARDBOARD_CUDA_LAUNCH
    void beginRecording() override { }
    std::unique_ptr<Replay> endRecording() override { return nullptr; }

private:
    std::map<std::byte*, std::size_t> m_blocks;
};

} // namespace shardboard::engine::cuda
