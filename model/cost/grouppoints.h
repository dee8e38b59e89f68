// SPDX-License-Identifier: Apache-2.0
// What collectives on one device group take for single sizes: the same as its price curves (groupcurve.h), for hardware that
// changes so often that a curve would serve a few sizes only. Nothing is allocated once its lines are there.
#pragma once

#include "model/cost/pricecurve.h"
#include "model/hardware/footprint.h"

#include <array>
#include <cstdint>
#include <vector>

namespace shardboard {

class GroupPoints {
public:
    /// The footprint must outlive it.
    explicit GroupPoints(const Footprint& footprint);

    /// Seconds of a collective with S = `bytes`. `edition` changes whenever the hardware does, which must have no torus: there
    /// curves round a little where many hops hide.
    double seconds(CollectiveKind kind, double bytes, const Hardware& hardware, std::uint64_t edition);

private:
    /// The ways by a single algorithm on some levels.
    struct Lines {
        std::uint64_t edition = 0;
        std::vector<PriceLine> lines;
    };

    double seconds(CollectiveKind kind, std::size_t first, std::size_t end, double bytes);
    const std::vector<PriceLine>& lines(CollectiveKind kind, std::size_t first, std::size_t end);

    const Footprint* m_footprint;
    std::vector<std::size_t> m_used; ///< levels
    std::vector<double> m_members; ///< of the used levels
    std::array<std::vector<Lines>, kCollectiveKinds> m_lines; ///< by kind, then first and end
    std::vector<PricedWay> m_ways;
    const Hardware* m_hardware = nullptr; ///< of the question at hand
    std::uint64_t m_edition = 0;
};

} // namespace shardboard
