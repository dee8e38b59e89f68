// SPDX-License-Identifier: Apache-2.0
// What all collectives and reshards are: regions of shards that are read from one or several devices, added up in the order of
// the sources (or their maximum taken), and written to one or several devices. Every addend is read once and every result
// written once, whatever the size of a group. All sources of a region are read before the first sum.
#pragma once

#include "engine/ops/bodies/fill.h"

#include <math.h>

namespace shardboard::engine::bodies {

struct ExchangeEntry {
    std::int64_t firstItem = 0; ///< of the launch
    std::int64_t firstSource = 0; ///< among the pointers: addresses of the region's first element
    std::int64_t sources = 0;
    std::int64_t firstTarget = 0;
    std::int64_t targets = 0;
    std::int32_t sourceHalf = 0;
    std::int32_t targetHalf = 0;
    std::int32_t highest = 0; ///< 1: the maximum instead of the sum
    std::int32_t onto = 0; ///< 1: what the target holds is the first addend
    std::int32_t packed = 0; ///< 1: runs and distances are whole packs
    std::int32_t dims = 0; ///< that are counted through; the rest is contiguous in both buffers
    std::int64_t run = 0; ///< contiguous elements
    std::int64_t rows = 0; ///< runs
    std::int64_t size[kMostDims] = {};
    std::int64_t sourceStride[kMostDims] = {};
    std::int64_t targetStride[kMostDims] = {};

    /// Runs, or parts of one, that an item works on.
    SHARDBOARD_BOTH std::int64_t runsOfItem() const { return run >= kTile ? 1 : kTile / (run < 1 ? 1 : run); }
    SHARDBOARD_BOTH std::int64_t partsOfRun() const { return run >= kTile ? (run + kTile - 1) / kTile : 1; }
    SHARDBOARD_BOTH std::int64_t items() const
    {
        return partsOfRun() > 1 ? rows * partsOfRun() : (rows + runsOfItem() - 1) / runsOfItem();
    }
};

/// K sources are read at once, more in rounds.
template <int K>
struct ExchangeBody {
    static constexpr int kLanes = kAll;
    const ExchangeEntry* entries = nullptr;
    void* const* pointers = nullptr;
    std::int64_t count = 0; ///< of entries

    template <class Lanes>
    SHARDBOARD_BOTH void operator()(const Lanes& lanes, std::int64_t item, std::int64_t) const
    {
        std::int64_t lo = 0;
        std::int64_t hi = count;
        while (hi - lo > 1) {
            const std::int64_t middle = (lo + hi) / 2;
            (entries[middle].firstItem <= item ? lo : hi) = middle;
        }
        const ExchangeEntry& e = entries[lo];
        item -= e.firstItem;
        const std::int64_t parts = e.partsOfRun();
        std::int64_t row = 0;
        std::int64_t column = 0;
        std::int64_t n = 0;
        if (parts > 1) {
            const Divided where = divided(item, parts);
            row = where.quotient;
            column = where.rest * kTile;
            n = smaller(kTile, e.run - column);
        } else {
            row = item * e.runsOfItem();
            n = smaller(e.runsOfItem(), e.rows - row) * e.run;
        }
        forEachOf(lanes, n, e.packed != 0, [&](std::int64_t i, auto w) {
            const Divided in = parts > 1 ? Divided { 0, column + i } : divided(i, e.run);
            std::int64_t from = in.rest;
            std::int64_t to = in.rest;
            std::int64_t left = row + in.quotient;
            for (int d = e.dims - 1; d >= 0; --d) {
                const Divided index = d > 0 ? divided(left, e.size[d]) : Divided { 0, left };
                from += index.rest * e.sourceStride[d];
                to += index.rest * e.targetStride[d];
                left = index.quotient;
            }
            some<decltype(w)::value>(e, from, to);
        });
    }

private:
    template <int W>
    SHARDBOARD_BOTH void some(const ExchangeEntry& e, std::int64_t from, std::int64_t to) const
    {
        void* const* sources = pointers + e.firstSource;
        void* const* targets = pointers + e.firstTarget;
        Floats<W> sum = {};
        bool started = false;
        Elements target;
        target.half = e.targetHalf;
        if (e.onto != 0) {
            target.data = targets[0];
            target.template load<W>(to, sum);
            started = true;
        }
        Elements source;
        source.half = e.sourceHalf;
        for (std::int64_t base = 0; base < e.sources; base += K) {
            Floats<W> values[static_cast<unsigned>(K)];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
            for (int k = 0; k < K; ++k)
                if (K == 1 || base + k < e.sources) {
                    source.data = sources[base + k];
                    source.template load<W, true>(from, values[k]);
                }
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
            for (int k = 0; k < K; ++k)
                if (K == 1 || base + k < e.sources) {
                    for (int j = 0; j < W; ++j)
                        sum[j] = !started    ? values[k][j]
                            : e.highest != 0 ? largerOf(sum[j], values[k][j])
                                             : addRounded(sum[j], values[k][j]);
                    started = true;
                }
        }
        for (std::int64_t t = 0; t < e.targets; ++t) {
            target.data = targets[t];
            target.template store<W, true>(to, sum);
        }
    }
};

} // namespace shardboard::engine::bodies
