// SPDX-License-Identifier: Apache-2.0
// Prices of collectives on one mesh and one hardware, remembered by mesh axes: a look-up costs some nanoseconds.
#pragma once

#include "model/cost/groupcurve.h"
#include "model/cost/grouppoints.h"

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace shardboard {

/// Mesh and hardware must outlive it.
class CollectivePrices {
public:
    CollectivePrices(const Mesh& mesh, const Hardware& hardware);
    CollectivePrices(CollectivePrices&&) = default;
    CollectivePrices(const CollectivePrices&) = delete; // what it remembers leads to each other

    /// The least of running the collective on the device groups over all these axes at once, level after level, and by
    /// collectives over some of the axes, one after the other: merged axes are never dearer than that. References stay
    /// valid. A local slice costs nothing.
    const PriceCurve& curve(CollectiveKind kind, const std::vector<int>& axes);
    /// `bytes` is S, the large side on one member. With the start of the collective.
    double seconds(CollectiveKind kind, const std::vector<int>& axes, std::int64_t bytes)
    {
        return curve(kind, axes).seconds(bytes);
    }
    /// The same without a curve: for few sizes each time that the hardware changes. Costs more than a look-up, some hundred
    /// nanoseconds, but much less than the curves of many axes.
    double secondsAtOnce(CollectiveKind kind, const std::vector<int>& axes, std::int64_t bytes);
    const Footprint& footprint(const std::vector<int>& axes);

    const Mesh& mesh() const { return m_mesh; }
    const Hardware& hardware() const { return *m_hardware; }
    /// Prices on other hardware from now on; whether any can differ. Where its levels are joined as before, groups need not be
    /// looked for again.
    bool setHardware(const Hardware& hardware);
    std::uint64_t edition() const { return m_edition; } ///< another one whenever prices can differ

private:
    using Mask = std::uint32_t; ///< of axes with more than one device: there are at most twenty
    Mask maskOf(const std::vector<int>& axes) const;
    std::vector<int> axesOf(Mask mask) const;
    double devicesOf(Mask mask) const;
    const Footprint& footprintBy(Mask mask);
    const PriceCurve& curveBy(CollectiveKind kind, Mask mask);
    void addSplit(std::vector<PricedWay>& ways, CollectiveKind kind, Mask first, Mask second);
    /// Both are sets of the axes in m_points: over those of `part`, of the bytes by the devices of `without`.
    double pointSeconds(CollectiveKind kind, std::size_t part, std::size_t without);

    const Mesh& m_mesh;
    const Hardware* m_hardware;
    std::vector<Level> m_levels; ///< that everything here is of
    CollectiveLibrary m_library = CollectiveLibrary::Nccl; ///< the same
    std::vector<int> m_bits; ///< by mesh axis: its bit, or -1 for an axis of one device
    std::vector<int> m_axes; ///< by bit
    std::unordered_map<Mask, Footprint> m_footprints;
    std::unordered_map<std::uint64_t, PriceCurve> m_curves; ///< by kind and axes
    std::uint64_t m_edition = 1; ///< of the hardware

    /// What secondsAtOnce is asked about, by sets of its axes.
    static constexpr std::size_t kPointAxes = 4; ///< of more, a curve is made
    static constexpr std::size_t kPointSets = std::size_t { 1 } << kPointAxes;
    struct Points {
        std::array<GroupPoints*, kPointSets> groups {};
        std::array<double, kPointSets> devices {};
        double bytes = 0;
        std::uint64_t question = 0;
    };
    struct Known {
        std::uint64_t question = 0;
        double seconds = 0;
    };
    Points m_points;
    std::vector<Known> m_known; ///< by kind, set and set left out
    std::unordered_map<Mask, GroupPoints> m_groups;
};

} // namespace shardboard
