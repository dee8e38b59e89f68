// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/hostruntime.h"

#include "engine/devices/context.h"
#include "engine/machine/failure.h"
#include "engine/machine/gemm.h"
#include "engine/machine/index.h"

#include <cstdint>
#include <cstring>
#include <functional>

namespace shardboard::engine::cuda {

struct HostRuntime::Work {
    std::function<void()> run;
};

namespace {

constexpr std::int64_t kAlignment = 256;

/// With room to begin where a vector may begin.
std::unique_ptr<std::byte[]> room(std::int64_t bytes) { return std::make_unique<std::byte[]>(at(bytes + kAlignment)); }

std::byte* aligned(std::byte* memory)
{
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    return memory + (kAlignment - static_cast<std::int64_t>(address % kAlignment)) % kAlignment;
}

/// Of a matrix of `rows` stored rows of `columns` elements.
std::vector<float> floatsOf(const void* data, bool half, std::int64_t rows, std::int64_t columns, std::int64_t ld)
{
    Elements elements;
    elements.data = const_cast<void*>(data);
    elements.half = half ? 1 : 0;
    std::vector<float> out;
    out.reserve(at(rows * columns));
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column)
            out.push_back(elements.at(row * ld + column));
    return out;
}

void multiply(const Gemm& gemm, const Gemm::Product& product)
{
    if (!gemm.half && !gemm.halfC) {
        sgemm(gemm.transposeA, gemm.transposeB, gemm.m, gemm.n, gemm.k, gemm.alpha, static_cast<const float*>(product.a), gemm.lda,
              static_cast<const float*>(product.b), gemm.ldb, gemm.beta, static_cast<float*>(product.c), gemm.ldc);
        return;
    }
    const auto rowsA = gemm.transposeA ? gemm.k : gemm.m;
    const auto columnsA = gemm.transposeA ? gemm.m : gemm.k;
    const auto rowsB = gemm.transposeB ? gemm.n : gemm.k;
    const auto columnsB = gemm.transposeB ? gemm.k : gemm.n;
    const auto a = floatsOf(product.a, gemm.half, rowsA, columnsA, gemm.lda);
    const auto b = floatsOf(product.b, gemm.half, rowsB, columnsB, gemm.ldb);
    std::vector<float> c(at(gemm.m * gemm.n), 0.0f);
    sgemm(gemm.transposeA, gemm.transposeB, gemm.m, gemm.n, gemm.k, gemm.alpha, a.data(), columnsA, b.data(), columnsB, 0, c.data(),
          gemm.n);
    Elements out;
    out.data = product.c;
    out.half = gemm.halfC ? 1 : 0;
    for (std::int64_t row = 0; row < gemm.m; ++row)
        for (std::int64_t column = 0; column < gemm.n; ++column) {
            const std::int64_t to = row * gemm.ldc + column;
            const float old = gemm.beta == 0 ? 0.0f : gemm.beta * out.at(to);
            out.set(to, old + c[at(row * gemm.n + column)]);
        }
}

class HostReplay : public Replay {
public:
    explicit HostReplay(std::vector<std::function<void()>> work)
        : m_work(std::move(work))
    {
    }
    void run() override
    {
        for (const auto& work : m_work)
            work();
    }

private:
    std::vector<std::function<void()>> m_work;
};

} // namespace

HostRuntime::HostRuntime(std::int64_t bytes)
    : m_bytes(bytes)
{
    prepareGemmThread();
}

HostRuntime::~HostRuntime() = default;

void HostRuntime::ask(std::unique_ptr<Work> work)
{
    if (m_recording)
        m_recorded.push_back(std::move(work));
    else
        work->run();
}

std::byte* HostRuntime::allocate(std::int64_t bytes)
{
    if (m_recording)
        throw Failure { "internal", "memory was asked for while launches were recorded", "" };
    if (bytes > m_bytes)
        throw Failure { "memory", "the device has no room for " + std::to_string(bytes) + " bytes", "" };
    auto block = room(bytes);
    std::byte* memory = aligned(block.get());
    m_blocks.emplace(memory, std::move(block));
    return memory;
}

void HostRuntime::release(std::byte* memory) { m_blocks.erase(memory); }

void HostRuntime::set(void* memory, int byte, std::int64_t bytes)
{
    ask(std::make_unique<Work>(Work { [=] { std::memset(memory, byte, at(bytes)); } }));
}

void HostRuntime::copy(void* to, const void* from, std::int64_t bytes)
{
    ask(std::make_unique<Work>(Work { [=] { std::memmove(to, from, at(bytes)); } }));
}

void HostRuntime::download(void* to, const void* from, std::int64_t bytes)
{
    if (m_recording)
        throw Failure { "internal", "values were asked for while launches were recorded", "" };
    std::memcpy(to, from, at(bytes));
}

const void* HostRuntime::table(const void* bytes, std::int64_t size)
{
    std::string key(static_cast<const char*>(bytes), at(size));
    const auto found = m_tables.find(key);
    if (found != m_tables.end())
        return aligned(found->second.get());
    if (m_recording)
        throw Failure { "internal", "a new table was uploaded while launches were recorded", "" };
    auto block = room(size);
    std::byte* memory = aligned(block.get());
    std::memcpy(memory, bytes, at(size));
    m_tables.emplace(std::move(key), std::move(block));
    return memory;
}

void HostRuntime::beginTimed() { m_start = now(); }
double HostRuntime::endTimed() { return now() - m_start; }

void HostRuntime::gemm(const Gemm& gemm)
{
    ++m_launches;
    ask(std::make_unique<Work>(Work { [gemm] {
        for (const Gemm::Product& product : gemm.products)
            multiply(gemm, product);
    } }));
}

#define SHARDBOARD_CUDA_LAUNCH(Body)                                                                                               \
    void HostRuntime::launch(const Body& body, const Grid& grid)                                                                   \
    {                                                                                                                              \
        ++m_launches;                                                                                                              \
        ask(std::make_unique<Work>(Work { [body, grid] {                                                                           \
            const HostLanes lanes;                                                                                                 \
            for (std::int64_t entry = 0; entry < grid.entries; ++entry)                                                            \
                for (std::int64_t item = 0; item < grid.items; ++item)                                                             \
                    body(lanes, item, grid.firstEntry + entry);                                                                    \
        } }));                                                                                                                     \
    }
SHARDBOARD_CUDA_BODIES(SHARDBOARD_CUDA_LAUNCH)
#undef SHARDBOARD_CUDA_LAUNCH

void HostRuntime::beginRecording()
{
    m_recording = true;
    m_recorded.clear();
}

std::unique_ptr<Replay> HostRuntime::endRecording()
{
    m_recording = false;
    std::vector<std::function<void()>> work;
    for (const auto& each : m_recorded)
        work.push_back(each->run);
    m_recorded.clear();
    return std::make_unique<HostReplay>(std::move(work));
}

} // namespace shardboard::engine::cuda
