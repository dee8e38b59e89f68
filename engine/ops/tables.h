// SPDX-License-Identifier: Apache-2.0
// Tables with an entry for every logical device, from which a body works, on the CPU as on a GPU.
#pragma once

#include "engine/devices/sharded.h"
#include "engine/ops/bodies/fill.h"

#include <cstdint>
#include <type_traits>
#include <vector>

namespace shardboard::engine {

/// Elements of a device's shard.
bodies::Elements elementsOf(const Sharded& tensor, std::int64_t device);
/// From a box to a buffer that holds `whole` row by row.
bodies::BoxMap mapOf(const Box& box, const Box& whole);
/// From a box to a tensor of this shape.
bodies::BoxMap mapOf(const Box& box, const Shape& shape);
/// From indices that count through `sizes` to offsets of these strides.
bodies::BoxMap mapOf(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides, std::int64_t base);
bodies::MadeValue madeOf(const Source& source);
/// For `count` positions from `first` on d/2 cosines, then d/2 sines, of position * theta^(-2i/d), computed in double.
void ropeAngles(std::int64_t first, std::int64_t count, std::int64_t d, double theta, float* table);
std::int64_t tilesOf(std::int64_t count, std::int64_t tile = bodies::kTile);

/// Entries in order of the devices that they work for.
template <class Entry>
struct Table {
    static_assert(std::has_unique_object_representations_v<Entry>, "entries are compared byte by byte");
    std::vector<Entry> entries;
    std::vector<std::int64_t> itemsOf; ///< of each entry
    std::vector<std::int64_t> first { 0 }; ///< of each device, and behind the last
    std::int64_t items = 0; ///< of the entry that has most

    void add(const Entry& entry, std::int64_t itemsOfEntry)
    {
        entries.push_back(entry);
        itemsOf.push_back(itemsOfEntry);
        items = items < itemsOfEntry ? itemsOfEntry : items;
    }
    void endDevice() { first.push_back(static_cast<std::int64_t>(entries.size())); }
};

} // namespace shardboard::engine
