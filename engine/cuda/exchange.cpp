// SPDX-License-Identifier: Apache-2.0
#include "engine/cuda/exchange.h"

#include "engine/cuda/launches.h"
#include "engine/machine/index.h"

#include <algorithm>
#include <map>
#include <utility>

namespace shardboard::engine::cuda {

namespace {

std::vector<std::int64_t> key(const Box& box)
{
    std::vector<std::int64_t> out;
    for (const Range& range : box) {
        out.push_back(range.lo);
        out.push_back(range.hi);
    }
    return out;
}

/// The transfers of a device by region, in the order in which they come. Empty when regions of different addends overlap without
/// being the same, or their sources do not lie alike.
Regions bySameRegion(const Sharded& before, const Box& target, std::int64_t device, const std::vector<Transfer>& transfers)
{
    Regions regions;
    std::map<std::vector<std::int64_t>, std::size_t> known;
    std::int64_t volume = 0;
    for (const Transfer& transfer : transfers) {
        if (volumeOf(transfer.region) == 0)
            continue;
        const auto [entry, isNew] = known.emplace(key(transfer.region), regions.size());
        if (isNew) {
            regions.push_back({ transfer.region, {}, { device }, false });
            volume += volumeOf(transfer.region);
        }
        Region& region = regions[entry->second];
        if (!region.sources.empty() && before.box(transfer.from) != before.box(region.sources.front()))
            return {};
        region.sources.push_back(transfer.from);
    }
    return volume <= volumeOf(target) ? regions : Regions {};
}

int atOnceFor(std::size_t sources) { return sources <= 1 ? 1 : sources == 2 ? 2 : sources <= 4 ? 4 : 8; }

/// How a region lies in both buffers, with dims that are contiguous in both merged.
void setGeometry(const Box& region, const Box& source, const Box& target, ExchangeEntry& entry, std::int64_t& sourceBase,
                 std::int64_t& targetBase)
{
    struct Dim {
        std::int64_t size, from, to;
    };
    std::vector<Dim> dims;
    std::int64_t from = 1;
    std::int64_t to = 1;
    sourceBase = 0;
    targetBase = 0;
    std::vector<Dim> all(region.size());
    for (std::size_t d = region.size(); d-- > 0;) {
        all[d] = { region[d].size(), from, to };
        sourceBase += (region[d].lo - source[d].lo) * from;
        targetBase += (region[d].lo - target[d].lo) * to;
        from *= source[d].size();
        to *= target[d].size();
    }
    for (const Dim& dim : all) {
        if (dim.size == 1)
            continue;
        if (!dims.empty() && dims.back().from == dim.size * dim.from && dims.back().to == dim.size * dim.to)
            dims.back() = { dims.back().size * dim.size, dim.from, dim.to };
        else
            dims.push_back(dim);
    }
    entry.run = 1;
    if (!dims.empty() && dims.back().from == 1 && dims.back().to == 1) {
        entry.run = dims.back().size;
        dims.pop_back();
    }
    entry.rows = 1;
    entry.dims = static_cast<std::int32_t>(dims.size());
    bool packed = entry.run % kPack == 0 && sourceBase % kPack == 0 && targetBase % kPack == 0;
    for (std::size_t d = 0; d < dims.size(); ++d) {
        entry.size[d] = dims[d].size;
        entry.sourceStride[d] = dims[d].from;
        entry.targetStride[d] = dims[d].to;
        entry.rows *= dims[d].size;
        packed = packed && dims[d].from % kPack == 0 && dims[d].to % kPack == 0;
    }
    entry.packed = packed ? 1 : 0;
}

} // namespace

std::vector<Regions> regionsOf(const Sharded& before, const Sharded& after, const std::vector<std::vector<Transfer>>& transfers,
                               bool onto)
{
    Regions shared;
    std::map<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>, std::size_t> known; // region and sources
    std::vector<Regions> apart;
    for (std::int64_t device = 0; device < after.deviceCount(); ++device) {
        const auto& list = transfers[at(device)];
        Regions own = bySameRegion(before, after.box(device), device, list);
        if (own.empty()) { // one after the other
            std::size_t step = 0;
            for (const Transfer& transfer : list) {
                if (volumeOf(transfer.region) == 0)
                    continue;
                if (apart.size() <= step)
                    apart.emplace_back();
                apart[step++].push_back({ transfer.region, { transfer.from }, { device }, transfer.add || onto });
            }
            continue;
        }
        for (Region& region : own) {
            region.onto = onto;
            const auto [entry, isNew] = known.emplace(std::pair { key(region.box), region.sources }, shared.size());
            if (isNew || onto || after.box(shared[entry->second].targets.front()) != after.box(device)) {
                shared.push_back(std::move(region));
                entry->second = shared.size() - 1;
            } else {
                shared[entry->second].targets.push_back(device);
            }
        }
    }
    std::vector<Regions> out;
    if (!shared.empty())
        out.push_back(std::move(shared));
    for (Regions& each : apart)
        out.push_back(std::move(each));
    return out;
}

std::vector<ExchangeLaunch> exchangeLaunches(const Sharded& before, const Sharded& after, const Regions& regions)
{
    std::vector<ExchangeLaunch> launches;
    for (const int atOnce : { 1, 2, 4, 8 }) {
        ExchangeLaunch launch;
        launch.atOnce = atOnce;
        for (const Region& region : regions) {
            if (atOnceFor(region.sources.size()) != atOnce)
                continue;
            ExchangeEntry entry;
            std::int64_t sourceBase = 0;
            std::int64_t targetBase = 0;
            setGeometry(region.box, before.box(region.sources.front()), after.box(region.targets.front()), entry, sourceBase,
                        targetBase);
            entry.firstItem = launch.items;
            entry.sourceHalf = before.element() == Element::BF16 ? 1 : 0;
            entry.targetHalf = after.element() == Element::BF16 ? 1 : 0;
            entry.highest = before.layout().op == ReduceOp::Max ? 1 : 0;
            entry.onto = region.onto ? 1 : 0;
            entry.firstSource = static_cast<std::int64_t>(launch.pointers.size());
            entry.sources = static_cast<std::int64_t>(region.sources.size());
            for (const std::int64_t source : region.sources)
                launch.pointers.push_back(before.address(source) + sourceBase * bytesOf(before.element()));
            entry.firstTarget = static_cast<std::int64_t>(launch.pointers.size());
            entry.targets = static_cast<std::int64_t>(region.targets.size());
            for (const std::int64_t target : region.targets)
                launch.pointers.push_back(after.address(target) + targetBase * bytesOf(after.element()));
            launch.items += entry.items();
            launch.entries.push_back(entry);
        }
        if (!launch.entries.empty())
            launches.push_back(std::move(launch));
    }
    return launches;
}

ExchangeLaunch copyLaunch(const Box& region, const Box& fromBox, const void* from, const Box& toBox, void* to, Element element,
                          Combine combine)
{
    ExchangeLaunch launch;
    ExchangeEntry entry;
    std::int64_t sourceBase = 0;
    std::int64_t targetBase = 0;
    setGeometry(region, fromBox, toBox, entry, sourceBase, targetBase);
    entry.sourceHalf = entry.targetHalf = element == Element::BF16 ? 1 : 0;
    entry.highest = combine == Combine::Max ? 1 : 0;
    entry.onto = combine == Combine::Copy ? 0 : 1;
    entry.sources = entry.targets = entry.firstTarget = 1;
    auto* const source = static_cast<std::byte*>(const_cast<void*>(from)); // the kernel only reads it
    launch.pointers = { source + sourceBase * bytesOf(element), static_cast<std::byte*>(to) + targetBase * bytesOf(element) };
    for (const void* pointer : launch.pointers) // parts of staging begin anywhere
        if (reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0)
            entry.packed = 0;
    launch.items = entry.items();
    launch.entries.push_back(entry);
    return launch;
}

std::int64_t exchangeBytes(const Sharded& before, const Sharded& after, const Regions& regions)
{
    std::int64_t bytes = 0;
    for (const Region& region : regions)
        bytes += volumeOf(region.box)
            * (static_cast<std::int64_t>(region.sources.size()) * bytesOf(before.element())
               + static_cast<std::int64_t>(region.targets.size()) * bytesOf(after.element()) * (region.onto ? 2 : 1));
    return bytes;
}

namespace {

template <int K>
void launchAs(Runtime& runtime, const ExchangeLaunch& launch)
{
    ExchangeBody<K> body;
    body.entries = static_cast<const ExchangeEntry*>(
        runtime.table(launch.entries.data(), static_cast<std::int64_t>(launch.entries.size() * sizeof(ExchangeEntry))));
    body.pointers = static_cast<void* const*>(
        runtime.table(launch.pointers.data(), static_cast<std::int64_t>(launch.pointers.size() * sizeof(void*))));
    body.count = static_cast<std::int64_t>(launch.entries.size());
    runtime.launch(body, Grid { launch.items, 0, 1 });
}

} // namespace

void launchExchange(Runtime& runtime, const ExchangeLaunch& launch)
{
    switch (launch.atOnce) {
    case 1:
        return launchAs<1>(runtime, launch);
    case 2:
        return launchAs<2>(runtime, launch);
    case 4:
        return launchAs<4>(runtime, launch);
    default:
        return launchAs<8>(runtime, launch);
    }
}

} // namespace shardboard::engine::cuda
