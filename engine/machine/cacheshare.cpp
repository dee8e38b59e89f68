// SPDX-License-Identifier: Apache-2.0
#include "engine/machine/cacheshare.h"

#include "engine/machine/failure.h"
#include "engine/machine/keptcacheshare.h"
#include "engine/machine/limits.h"
#include "engine/machine/machine.h"
#include "engine/machine/reservedmemory.h"
#include "engine/machine/taskpool.h"
#include "model/core/statistics.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>

namespace shardboard::engine {

namespace {

std::optional<std::int64_t> forcedShare()
{
    const char* text = std::getenv("SHARDBOARD_CACHE_BYTES");
    if (text == nullptr || *text == '\0')
        return std::nullopt;
    const auto bytes = parseInteger(text);
    if (!bytes || *bytes < 0)
        throw Failure { "environment",
                        "SHARDBOARD_CACHE_BYTES is '" + visibleText(shortened(text, 60))
                            + "'; give it a number of bytes, such as 33554432, or unset it",
                        "" };
    return bytes;
}

std::int64_t measured()
{
    constexpr int kTrials = 7;
    const std::int64_t most = std::clamp(availableMemory() / 8, kLeastCacheShare, kMostCacheShare);
    const std::int64_t floats = most / 2 / static_cast<std::int64_t>(sizeof(float));
    TaskPool pool(std::min(usableCores(), 64), nullptr);
    const ReservedMemory memory(2 * floats * static_cast<std::int64_t>(sizeof(float)) + 1024);
    float* const from = memory.floats();
    float* const to = from + (floats + 63) / 64 * 64; // lies as `from` does on cache lines
    const MemoryProbe probe(pool, from, to, floats);
    std::int64_t touched = 0;
    return cacheShareFrom(
        [&](std::int64_t bytes) {
            const std::int64_t count = bytes / 2 / static_cast<std::int64_t>(sizeof(float));
            for (; touched < count; ++touched) // only the pages that are asked about
                from[touched] = static_cast<float>(touched % 8191) - 4095.0f;
            const auto secondsBy = [&](bool pastCaches) {
                probe.copySeconds(pool.workers(), count, pastCaches); // leaves in the caches what this way leaves there
                return probe.copySeconds(pool.workers(), count, pastCaches);
            };
            std::vector<double> gains;
            for (int i = 0; i < kTrials; ++i) {
                const double ordinary = secondsBy(false);
                gains.push_back(secondsBy(true) / std::max(ordinary, 1e-9));
            }
            return spreadOf(std::move(gains)).median;
        },
        most);
}

/// Of this process, so that it measures once also where nothing can be kept. 0: not known yet.
std::atomic<std::int64_t> known { 0 };

} // namespace

std::int64_t cacheShareBytes()
{
    if (const auto forced = forcedShare())
        return *forced;
    if (known == 0) {
        KeptCacheShare kept;
        const auto bytes = kept.bytes();
        known = bytes ? *bytes : measured();
        if (!bytes)
            kept.keep(known);
    }
    return known;
}

std::int64_t measureCacheShare()
{
    if (const auto forced = forcedShare())
        return *forced;
    KeptCacheShare kept;
    known = measured();
    kept.keep(known);
    return known;
}

std::int64_t cacheShareFrom(const std::function<double(std::int64_t bytes)>& gain, std::int64_t most)
{
    // At the edge both ways are about as fast, and what is in the caches by half is soon out of them.
    constexpr double kWorthIt = 1.15;
    std::int64_t share = kLeastCacheShare;
    bool half = true; // 1, 1.5, 2, 3, 4, 6 … MiB
    for (std::int64_t bytes = kLeastCacheShare; bytes <= most; bytes = half ? bytes / 2 * 3 : bytes / 3 * 4, half = !half) {
        if (gain(bytes) < kWorthIt && gain(bytes) < kWorthIt)
            break;
        share = bytes;
    }
    return share;
}

} // namespace shardboard::engine
