// SPDX-License-Identifier: Apache-2.0
#include "engine/machine/limits.h"

#include "engine/machine/clock.h"
#include "engine/machine/gemm.h"
#include "engine/machine/index.h"
#include "engine/machine/machine.h"
#include "engine/machine/measure.h"
#include "engine/machine/reservedmemory.h"
#include "engine/simd/fusedrun.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <vector>

namespace shardboard::engine {

namespace {

constexpr std::int64_t kProduct = 1024; ///< the largest
constexpr MeasureRules kRules { .trials = 5, .mostRounds = 4, .agree = 0.02, .mostSeconds = 0.2 };

/// Of both buffers together, in bytes.
std::int64_t copyBytes()
{
    constexpr std::int64_t kLeast = std::int64_t { 64 } << 20;
    constexpr std::int64_t kMost = std::int64_t { 512 } << 20;
    return std::clamp<std::int64_t>(4 * lastCacheBytes(), kLeast, kMost) / 1024 * 1024;
}

/// Runs the same on `workers` of the pool at once; the seconds of a core that each took, on average.
double secondsOn(TaskPool& pool, int workers, const std::function<void(std::int64_t part)>& work)
{
    std::vector<double> seconds(static_cast<std::size_t>(workers), 0.0);
    pool.run(workers, [&](std::int64_t part, int) {
        const double start = coreSeconds();
        work(part);
        seconds[at(part)] = coreSeconds() - start;
    });
    return std::accumulate(seconds.begin(), seconds.end(), 0.0) / workers;
}

} // namespace

std::int64_t probeFloats() { return copyBytes() / 2 / static_cast<std::int64_t>(sizeof(float)); }

MemoryProbe::MemoryProbe(TaskPool& pool, const float* from, float* to, std::int64_t floats)
    : m_pool(pool)
    , m_from(from)
    , m_to(to)
    , m_floats(floats)
{
}

/// The pieces go to whoever is free, and the clock is that of the threads: as collectives are done and timed.
double MemoryProbe::secondsOfPieces(int workers, std::int64_t floats,
                                    const std::function<void(std::int64_t first, std::int64_t count)>& work) const
{
    constexpr std::int64_t kLargest = 1 << 18;
    const std::int64_t piece = std::clamp<std::int64_t>((floats + workers - 1) / workers, 1, kLargest);
    std::vector<double> seconds(static_cast<std::size_t>(workers), 0.0);
    std::atomic<std::int64_t> next { 0 };
    m_pool.run(workers, [&](std::int64_t part, int) {
        const double start = coreSeconds();
        for (std::int64_t first = piece * next++; first < floats; first = piece * next++)
            work(first, std::min(piece, floats - first));
        seconds[at(part)] = coreSeconds() - start;
    });
    return std::accumulate(seconds.begin(), seconds.end(), 0.0) / workers;
}

double MemoryProbe::copySeconds(int workers, std::int64_t floats, bool pastCaches) const
{
    return secondsOfPieces(workers, floats, [&](std::int64_t first, std::int64_t count) {
        copyRun(m_from + first, count, m_to + first, pastCaches);
        if (pastCaches)
            finishRuns();
    });
}

double MemoryProbe::copyRate(int workers)
{
    return 2.0 * sizeof(float) * static_cast<double>(m_floats) / copySeconds(workers, m_floats, true);
}

double MemoryProbe::storeRate(int workers)
{
    constexpr std::int64_t kTile = 4096; // read from the first cache
    const double seconds = secondsOfPieces(workers, m_floats, [&](std::int64_t first, std::int64_t count) {
        for (std::int64_t i = 0; i < count; i += kTile)
            copyRun(m_from, std::min(kTile, count - i), m_to + first + i, true);
        finishRuns();
    });
    return sizeof(float) * static_cast<double>(m_floats) / seconds;
}

double MemoryProbe::readRate(int workers, int sources)
{
    constexpr std::int64_t kTile = 4096; // written to the first cache
    const std::int64_t each = m_floats / sources;
    const double seconds = secondsOfPieces(workers, each, [&](std::int64_t first, std::int64_t count) {
        alignas(64) float sums[kTile];
        float* const to = sums;
        std::vector<const float*> from(static_cast<std::size_t>(sources));
        for (std::int64_t i = 0; i < count; i += kTile) {
            for (int source = 0; source < sources; ++source)
                from[static_cast<std::size_t>(source)] = m_from + source * each + first + i;
            FusedRun run;
            run.from = from.data();
            run.sources = sources;
            run.to = &to;
            run.count = std::min(kTile, count - i);
            fusedRun(run);
        }
    });
    return sizeof(float) * static_cast<double>(each * sources) / seconds;
}

void copyPastCaches(const float* from, std::int64_t count, float* to)
{
    copyRun(from, count, to, true);
    finishRuns();
}

std::int64_t limitsMemory(int workers)
{
    return copyBytes() + (2 + workers) * kProduct * kProduct * std::int64_t { sizeof(float) } + (1 << 20);
}

std::int64_t processMemory(int workers)
{
    constexpr std::int64_t kMiB = std::int64_t { 1 } << 20;
    return 96 * kMiB + workers * 40 * kMiB;
}

MachineLimits measureLimits(TaskPool& pool)
{
    const int workers = pool.workers();
    const ReservedMemory memory(limitsMemory(workers));
    const std::int64_t floats = probeFloats();
    float* const from = memory.floats();
    float* const to = from + floats;
    float* const operands = to + floats;
    float* const products = operands + 2 * kProduct * kProduct;
    constexpr std::int64_t kPiece = 1 << 20;
    pool.run((floats + kPiece - 1) / kPiece,
             [&](std::int64_t piece, int) { // values that are not all alike, and pages that are there
                 const std::int64_t lo = piece * kPiece;
                 for (std::int64_t i = lo; i < std::min(floats, lo + kPiece); ++i) {
                     from[i] = static_cast<float>(i * 2654435761u % 8191u) - 4095.0f;
                     to[i] = 0;
                 }
             });
    std::memcpy(operands, from, sizeof(float) * 2 * kProduct * kProduct);
    std::memset(products, 0, sizeof(float) * at(workers * kProduct * kProduct));

    MemoryProbe probe(pool, from, to, floats);
    const auto copyRate = [&](int on) { return 1 / measure([&] { return 1 / probe.copyRate(on); }, kRules).median; };
    const auto gemmRateOf = [&](int on, std::int64_t n) {
        const Measured time = measure(
            [&] {
                return secondsOn(pool, on, [&](std::int64_t part) {
                    sgemm(false, true, n, n, n, 1, operands, n, operands + n * n, n, 0, products + part * kProduct * kProduct, n);
                });
            },
            kRules);
        return 2.0 * static_cast<double>(n * n * n) * on / time.median;
    };
    const auto gemmRate = [&](int on) { return std::max(gemmRateOf(on, kProduct / 2), gemmRateOf(on, kProduct)); };
    MachineLimits out;
    out.copyBytesOne = copyRate(1);
    out.copyBytesAll = workers > 1 ? copyRate(workers) : out.copyBytesOne;
    out.gemmFlopsOne = gemmRate(1);
    out.gemmFlopsAll = workers > 1 ? gemmRate(workers) : out.gemmFlopsOne;
    return out;
}

} // namespace shardboard::engine
