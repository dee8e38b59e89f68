// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/regions.h"

#include <algorithm>

namespace shardboard::engine {

namespace {

/// Targets that are written at once; more are written one group after the other, tile by tile, while the tile is in the cache.
constexpr std::int64_t kTargetsAtOnce = 16;
constexpr std::int64_t kTile = 4096;

/// Where a region lies in the buffers: distances along each dim, and the dims that have to be counted through.
struct Walk {
    std::size_t outer = 0;
    std::int64_t run = 1;
    std::vector<std::vector<std::int64_t>> strides; ///< by buffer
    std::vector<std::int64_t> offsets;

    Walk(const Box& region, const std::vector<const Box*>& boxes)
        : outer(region.size())
    {
        const auto whole = [&](std::size_t d) {
            return std::all_of(boxes.begin(), boxes.end(), [&](const Box* box) { return (*box)[d] == region[d]; });
        };
        while (outer > 0) {
            --outer; // dim `outer` itself may be a part: it only ends the run
            if (!whole(outer))
                break;
        }
        for (std::size_t d = outer; d < region.size(); ++d)
            run *= region[d].size();
        for (const Box* box : boxes) {
            std::vector<std::int64_t> stride(region.size(), 1);
            for (std::size_t d = region.size(); d-- > 1;)
                stride[d - 1] = stride[d] * (*box)[d].size();
            std::int64_t offset = 0;
            for (std::size_t d = 0; d < region.size(); ++d)
                offset += (region[d].lo - (*box)[d].lo) * stride[d];
            strides.push_back(std::move(stride));
            offsets.push_back(offset);
        }
    }
};

} // namespace

void fusedTiles(const FusedRun& run)
{
    if (run.targets <= kTargetsAtOnce)
        return fusedRun(run);
    std::vector<const float*> from(run.from, run.from + run.sources);
    std::vector<float*> to(run.to, run.to + run.targets);
    for (std::int64_t left = run.count; left > 0; left -= kTile) {
        const std::int64_t count = std::min(left, kTile);
        for (std::int64_t t = 0; t < run.targets; t += kTargetsAtOnce) {
            FusedRun tile = run;
            tile.from = from.data();
            tile.to = to.data() + t;
            tile.targets = std::min(kTargetsAtOnce, run.targets - t);
            tile.count = count;
            fusedRun(tile);
        }
        for (const float*& source : from)
            source += count;
        for (float*& target : to)
            target += count;
    }
}

void fuseRegion(const Box& region, const std::vector<RegionSource>& sources, const std::vector<RegionTarget>& targets, FusedSum sum,
                bool pastCaches)
{
    if (volumeOf(region) == 0)
        return;
    std::vector<const Box*> boxes;
    for (const RegionSource& source : sources)
        boxes.push_back(source.box);
    for (const RegionTarget& target : targets)
        boxes.push_back(target.box);
    const Walk walk(region, boxes);
    std::vector<const float*> from;
    std::vector<float*> to;
    for (std::size_t s = 0; s < sources.size(); ++s)
        from.push_back(sources[s].data + walk.offsets[s]);
    for (std::size_t t = 0; t < targets.size(); ++t)
        to.push_back(targets[t].data + walk.offsets[sources.size() + t]);
    FusedRun run;
    run.from = from.data();
    run.sources = static_cast<std::int64_t>(from.size());
    run.to = to.data();
    run.targets = static_cast<std::int64_t>(to.size());
    run.count = walk.run;
    run.sum = sum;
    run.pastCaches = pastCaches;
    const auto move = [&](std::size_t d, std::int64_t steps) {
        for (std::size_t s = 0; s < from.size(); ++s)
            from[s] += walk.strides[s][d] * steps;
        for (std::size_t t = 0; t < to.size(); ++t)
            to[t] += walk.strides[from.size() + t][d] * steps;
    };
    std::vector<std::int64_t> index(walk.outer, 0);
    while (true) {
        fusedTiles(run);
        std::size_t d = walk.outer;
        while (d > 0) {
            --d;
            if (++index[d] < region[d].size()) {
                move(d, 1);
                break;
            }
            move(d, 1 - region[d].size());
            index[d] = 0;
            if (d == 0)
                return;
        }
        if (walk.outer == 0)
            return;
    }
}

} // namespace shardboard::engine
