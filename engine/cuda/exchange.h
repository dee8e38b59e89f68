// SPDX-License-Identifier: Apache-2.0
// Plans what the one exchange kernel does: regions, whom they are read from, and to whom they are written. Pure functions from
// the transfers that the engine's own collectives use.
#pragma once

#include "engine/cuda/runtime.h"
#include "engine/devices/collective.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard::engine::cuda {

/// A region that is read from `sources`, added up in their order, and written to `targets`. Sources lie alike, and so do targets.
struct Region {
    Box box;
    std::vector<std::int64_t> sources; ///< devices
    std::vector<std::int64_t> targets;
    bool onto = false; ///< added to what the target holds
};

/// Regions that can be done at once; the lists follow each other.
using Regions = std::vector<Region>;
std::vector<Regions> regionsOf(const Sharded& before, const Sharded& after, const std::vector<std::vector<Transfer>>& transfers,
                               bool onto);

/// A launch: all regions with so many sources that they are read `atOnce` at once.
struct ExchangeLaunch {
    int atOnce = 1; ///< 1, 2, 4 or 8
    std::vector<ExchangeEntry> entries;
    std::vector<void*> pointers;
    std::int64_t items = 0;
};
std::vector<ExchangeLaunch> exchangeLaunches(const Sharded& before, const Sharded& after, const Regions& regions);
/// A region from one row-major buffer to another: copied, added to what is there, or the maximum of both.
ExchangeLaunch copyLaunch(const Box& region, const Box& fromBox, const void* from, const Box& toBox, void* to, Element element,
                          Combine combine);
/// Device memory that it reads and writes.
std::int64_t exchangeBytes(const Sharded& before, const Sharded& after, const Regions& regions);

void launchExchange(Runtime& runtime, const ExchangeLaunch& launch);

} // namespace shardboard::engine::cuda
