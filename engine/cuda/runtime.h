// SPDX-License-Identifier: Apache-2.0
// The little that the executor asks of a device: memory, tables, launches, matrix products, time, graphs. There are two: the
// GPU (cudaruntime.h), and a stand-in on the CPU for tests (hostruntime.h).
#pragma once

#include "engine/cuda/bodies.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shardboard::engine::cuda {

using namespace bodies;

struct Grid {
    std::int64_t items = 0; ///< of the entry that has most
    std::int64_t firstEntry = 0;
    std::int64_t entries = 1;
};

/// C = alpha op(A) op(B) + beta C for many products of one shape at once, row-major: op(A) is m x k, op(B) is k x n. Sums are in
/// float32. A and B are of the same kind of element.
struct Gemm {
    bool transposeA = false;
    bool transposeB = false;
    std::int64_t m = 0, n = 0, k = 0; ///< none is 0
    std::int64_t lda = 0, ldb = 0, ldc = 0; ///< distances between stored rows, in elements
    float alpha = 1;
    float beta = 0;
    bool half = false; ///< A and B are bfloat16
    bool halfC = false;
    struct Product {
        const void* a = nullptr;
        const void* b = nullptr;
        void* c = nullptr;
    };
    std::vector<Product> products;
};

/// A recorded sequence of launches.
class Replay {
public:
    virtual ~Replay() = default;
    virtual void run() = 0;
};

/// Work is done in the order in which it was asked for, later. All throw Failure ("memory", "internal").
class Runtime {
public:
    virtual ~Runtime() = default;

    virtual std::string name() const = 0; ///< of the device
    virtual std::int64_t freeBytes() const = 0;
    virtual std::int64_t totalBytes() const = 0;
    virtual double flopsGuess(bool half) const = 0; ///< a second, before anything was measured
    virtual double bytesGuess() const = 0; ///< read and written a second

    virtual std::byte* allocate(std::int64_t bytes) = 0;
    virtual void release(std::byte* memory) = 0;
    virtual void set(void* memory, int byte, std::int64_t bytes) = 0;
    virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
    /// To this process; waits for what was asked for before.
    virtual void download(void* to, const void* from, std::int64_t bytes) = 0;
    /// The bytes in device memory; those that were uploaded before are found again. Valid as long as the runtime.
    virtual const void* table(const void* bytes, std::int64_t size) = 0;
    virtual void wait() = 0;

    /// Seconds that the device takes from begin to end, without the time to ask for it: what is asked for in between waits for
    /// the end, or for openTimed() where several devices are to work at once.
    virtual void beginTimed() = 0;
    virtual void openTimed() { }
    virtual double endTimed() = 0;
    /// The same for work that waits for that of other devices: it begins at once, and the time to ask for it is not kept out.
    virtual void beginTimedUnheld() { beginTimed(); }
    /// After openTimed(), without waiting: whether the device is done. Throws when it has failed.
    virtual bool isDone() { return true; }

    virtual void gemm(const Gemm& gemm) = 0;
#define SHARDBOARD_CUDA_LAUNCH(Body) virtual void launch(const Body& body, const Grid& grid) = 0;
    SHARDBOARD_CUDA_BODIES(SHARDBOARD_CUDA_LAUNCH)
#undef SHARDBOARD_CUDA_LAUNCH

    /// What is asked for between the two is recorded instead of done. Nothing in between may wait, allocate or upload.
    virtual void beginRecording() = 0;
    virtual std::unique_ptr<Replay> endRecording() = 0;
    /// In MHz; 0 when it cannot be read.
    virtual double clock() const { return 0; }
    /// The cudaStream_t that the work goes to; null where there is none.
    virtual void* stream() const { return nullptr; }
};

} // namespace shardboard::engine::cuda
