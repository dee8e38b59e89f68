// SPDX-License-Identifier: Apache-2.0
// What it takes at least to go from one layout to another, told by the mesh axes that change alone: of many layouts at once.
#pragma once

#include "model/plan/reshard/reshardunits.h"

#include <cstdint>
#include <unordered_map>

namespace shardboard {

class ReshardFloors {
public:
    static constexpr int kMaxAxes = 8; ///< of the mesh

    /// Both must outlive it.
    ReshardFloors(const Mesh& mesh, CollectivePrices& prices);

    /// Mesh axes as bits. Those that stay where they are, and before which nothing changes, are in none of them.
    struct Change {
        std::uint8_t cut = 0; ///< they cut a dim before
        std::uint8_t wanted = 0; ///< they cut one after
        std::uint8_t going = 0; ///< of `cut`: what they cut, or what cuts it before them, is not as in the end
        std::uint8_t summed = 0; ///< partial before, and not after
        std::uint8_t all() const { return static_cast<std::uint8_t>(cut | wanted | summed); }
        friend bool operator==(const Change&, const Change&) = default;
    };
    /// Seconds; no steps take less (ReshardFloor). Over a single axis they are those of the one step, where all parts are equal.
    /// `elements`: of a part that the axes which stay cut.
    double seconds(const Change& change, std::int64_t elements, DType dtype, double density);

private:
    struct Key {
        std::int64_t elements = 0;
        double density = 1;
        Change change;
        DType dtype = DType::BF16;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const;
    };
    double find(const Key& key);

    const Mesh& m_mesh;
    CollectivePrices& m_prices;
    ReshardUnits m_units;
    ReshardFloor m_floor { m_units };
    std::unordered_map<Key, double, Hash> m_known;
};

} // namespace shardboard
