// SPDX-License-Identifier: Apache-2.0
// Prices of collectives over the mesh axes that change between two layouts, in whole numbers, and what is left to pay at least on
// the way. Only for the search beside it.
#pragma once

#include "model/plan/reshard/reshard.h"

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace shardboard {

/// Sets of axes are bits of their places in the list that `begin` was given.
class ReshardUnits {
public:
    static constexpr std::size_t kMaxAxes = 8;

    /// `most`: elements of the largest buffer. The prices are always those of one mesh.
    void begin(const ReshardedTensor& tensor, std::span<const int> axes, const Mesh& mesh, CollectivePrices& prices,
               std::int64_t most);
    /// Of a buffer of so many elements, the large side: in units of a step of the whole search, and in seconds.
    std::int64_t units(CollectiveKind kind, unsigned axes, std::int64_t count);
    double seconds(CollectiveKind kind, unsigned axes, std::int64_t count) { return curve(kind, axes).seconds(bytes(count)); }
    double seconds(std::int64_t units) const; ///< at least
    std::int64_t devices(unsigned axes) const { return m_devices[axes]; }
    unsigned all() const { return (1U << m_axes.size()) - 1; }

private:
    static constexpr std::size_t kSets = std::size_t { 1 } << kMaxAxes;

    const PriceCurve& curve(CollectiveKind kind, unsigned axes);
    std::int64_t bytes(std::int64_t count) const;

    CollectivePrices* m_prices = nullptr;
    std::uint64_t m_edition = 0;
    std::array<std::array<const PriceCurve*, kSets>, kCollectiveKinds> m_curves {}; ///< by kind and set of mesh axes, if few
    std::array<std::uint8_t, kSets> m_place {}; ///< by set: in m_curves
    std::array<std::int64_t, kSets> m_devices {};
    std::vector<int> m_axes;
    DType m_dtype = DType::BF16;
    double m_density = 1;
    double m_scale = 1;
};

/// What a way costs at least from some layout to its end, whatever lies between. It is told by parts: devices over which a layout
/// is cut; a device has at least its share of all elements. Parts become fewer by all-gathers alone, each divides them by its
/// devices at most. A sum over an axis takes one collective, of what is left when all others are cut. An axis that has to go from
/// where it cuts takes part in an all-gather, an all-to-all, or a send-recv.
class ReshardFloor {
public:
    explicit ReshardFloor(ReshardUnits& prices)
        : m_prices(prices)
    {
    }

    /// Elements of all; in the end, the parts and which axes cut something.
    void begin(std::int64_t elements, std::int64_t parts, unsigned cut);
    /// From a layout: its parts, and those if everything were cut that is whole; axes that have to go; axes to sum over.
    std::int64_t of(std::int64_t parts, std::int64_t most, unsigned going, unsigned sums);
    /// The same without axes that have to go: what a send-recv or an all-to-all leaves to pay.
    std::int64_t fixed(std::int64_t parts, std::int64_t most, unsigned sums) { return of(parts, most, 0, sums); }
    std::int64_t sendRecv(std::int64_t count); ///< of one send-recv of so many elements

private:
    struct Known {
        std::int64_t parts;
        std::int64_t most;
        unsigned axes;
        std::int64_t units;
    };
    using Memory = std::vector<Known>;

    std::int64_t share(std::int64_t parts) const { return (m_elements + parts - 1) / parts; }
    /// The least of all-gathers from `parts` or more to `end`, and where `axis` is not in any of them, `move` for it; if that is
    /// below `limit`.
    std::int64_t gathered(std::int64_t end, std::int64_t parts, unsigned axis, std::int64_t move, std::int64_t limit);
    std::int64_t moved(unsigned axis, std::int64_t most);
    std::int64_t summed(unsigned axes, std::int64_t most);

    ReshardUnits& m_prices;
    std::int64_t m_elements = 1;
    std::int64_t m_end = 1;
    unsigned m_cut = 0;
    Memory m_gathers;
    Memory m_moves;
    Memory m_sums;
    Memory m_sendRecvs;
};

} // namespace shardboard
