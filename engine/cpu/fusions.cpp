// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/fusions.h"

#include "engine/cpu/regions.h"
#include "engine/machine/index.h"

#include <algorithm>
#include <map>

namespace shardboard::engine {

namespace {

using Key = std::vector<std::int64_t>;

Key keyOf(const Box& region)
{
    Key key;
    for (const Range& range : region) {
        key.push_back(range.lo);
        key.push_back(range.hi);
    }
    return key;
}

struct Task {
    std::size_t fusion = 0;
    Box piece;
};

std::int64_t bytesOf(const std::vector<Fusion>& fusions)
{
    std::int64_t bytes = 0;
    for (const Fusion& fusion : fusions)
        bytes +=
            volumeOf(fusion.region) * static_cast<std::int64_t>(sizeof(float) * (fusion.sources.size() + fusion.targets.size()));
    return bytes;
}

} // namespace

std::optional<std::vector<Fusion>> fusionsOf(const std::vector<std::vector<Transfer>>& transfers, bool shared)
{
    std::vector<Fusion> out;
    std::map<Key, std::size_t> known; // region and sources
    for (std::size_t device = 0; device < transfers.size(); ++device) {
        std::vector<Fusion> own; // in the order in which the device first reads each region
        std::map<Key, std::size_t> regions;
        std::size_t addends = 0;
        for (const Transfer& transfer : transfers[device]) {
            const auto [region, fresh] = regions.emplace(keyOf(transfer.region), own.size());
            if (fresh == transfer.add)
                return std::nullopt;
            if (fresh)
                own.push_back({ transfer.region, {}, {} });
            Fusion& fusion = own[region->second];
            fusion.sources.push_back(transfer.from);
            addends = std::max(addends, fusion.sources.size());
        }
        for (Fusion& fusion : own) {
            if (fusion.sources.size() != addends)
                return std::nullopt;
            Key key = keyOf(fusion.region);
            key.insert(key.end(), fusion.sources.begin(), fusion.sources.end());
            if (!shared)
                key.push_back(static_cast<std::int64_t>(device));
            const auto [same, fresh] = known.emplace(std::move(key), out.size());
            if (fresh)
                out.push_back(std::move(fusion));
            out[same->second].targets.push_back(static_cast<std::int64_t>(device));
        }
    }
    return out;
}

Timing runFusions(Context& context, const Sharded& before, const std::vector<Fusion>& fusions, FusedSum sum, Sharded& after)
{
    std::map<std::vector<std::int64_t>, std::int64_t> alike; // fusions with the same targets
    for (const Fusion& fusion : fusions)
        ++alike[fusion.targets];
    std::map<std::vector<std::int64_t>, std::int64_t> next; // whose turn it is
    std::vector<Task> tasks;
    std::vector<std::int64_t> devices;
    for (std::size_t f = 0; f < fusions.size(); ++f) {
        const Fusion& fusion = fusions[f];
        // Everybody gets a part, and as many regions as parts are needed may each stay in one.
        const auto targets = static_cast<std::int64_t>(fusion.targets.size());
        const std::int64_t parts = (targets + alike[fusion.targets] - 1) / alike[fusion.targets];
        const std::int64_t elements = std::min(kPieceElements, (volumeOf(fusion.region) + parts - 1) / parts);
        std::vector<Box> pieces = piecesOf(fusion.region, std::max<std::int64_t>(1, elements));
        std::int64_t& turn = next[fusion.targets];
        const auto count = static_cast<std::int64_t>(pieces.size());
        for (std::int64_t i = 0; i < count; ++i) {
            tasks.push_back({ f, std::move(pieces[at(i)]) });
            devices.push_back(fusion.targets[at((turn + i * parts / count) % targets)]);
        }
        turn += parts;
    }
    const bool past = context.goesPastCaches(bytesOf(fusions));
    return runTimed(context, after.mesh(), devices, [&](std::size_t index, int) {
        const Task& task = tasks[index];
        const Fusion& fusion = fusions[task.fusion];
        std::vector<RegionSource> sources;
        std::vector<RegionTarget> targets;
        for (const std::int64_t device : fusion.sources)
            sources.push_back({ before.data(device), &before.box(device) });
        for (const std::int64_t device : fusion.targets)
            targets.push_back({ after.data(device), &after.box(device) });
        fuseRegion(task.piece, sources, targets, sum, past);
        if (past)
            finishRuns();
        return 0.0;
    });
}

} // namespace shardboard::engine
