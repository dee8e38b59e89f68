// SPDX-License-Identifier: Apache-2.0
// A stand-in for a GPU: the same tables and kernels, one lane, on the CPU. For tests of all that a machine without a GPU can test;
// its times say nothing.
#pragma once

#include "engine/cuda/runtime.h"

#include <map>
#include <memory>
#include <string>

namespace shardboard::engine::cuda {

class HostRuntime : public Runtime {
public:
    explicit HostRuntime(std::int64_t bytes);

    std::string name() const override { return "stand-in on the CPU"; }
    std::int64_t freeBytes() const override { return m_bytes; }
    std::int64_t totalBytes() const override { return m_bytes; }
    double flopsGuess(bool) const override { return 1e9; }
    double bytesGuess() const override { return 1e9; }

    std::byte* allocate(std::int64_t bytes) override;
    void release(std::byte* memory) override;
    void set(void* memory, int byte, std::int64_t bytes) override;
    void copy(void* to, const void* from, std::int64_t bytes) override;
    void download(void* to, const void* from, std::int64_t bytes) override;
    const void* table(const void* bytes, std::int64_t size) override;
    void wait() override { }
    void beginTimed() override;
    double endTimed() override;
    void gemm(const Gemm& gemm) override;
#define SHARDBOARD_CUDA_LAUNCH(Body) void launch(const Body& body, const Grid& grid) override;
    SHARDBOARD_CUDA_BODIES(SHARDBOARD_CUDA_LAUNCH)
#undef SHARDBOARD_CUDA_LAUNCH
    void beginRecording() override;
    std::unique_ptr<Replay> endRecording() override;

    std::int64_t launches() const { return m_launches; } ///< kernels and products so far

private:
    struct Work;
    void ask(std::unique_ptr<Work> work);

    std::int64_t m_bytes;
    std::map<std::byte*, std::unique_ptr<std::byte[]>> m_blocks;
    std::map<std::string, std::unique_ptr<std::byte[]>> m_tables;
    std::int64_t m_launches = 0;
    double m_start = 0;
    bool m_recording = false;
    std::vector<std::unique_ptr<Work>> m_recorded;

public:
    ~HostRuntime() override;
};

} // namespace shardboard::engine::cuda
