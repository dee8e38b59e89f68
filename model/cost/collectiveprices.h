// SPDX-License-Identifier: Apache-2.0
// Prices of collectives on one mesh and one hardware, remembered by mesh axes: a look-up costs some nanoseconds.
#pragma once

#include "model/cost/groupcurve.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace shardboard {

/// Mesh and hardware must outlive it.
class CollectivePrices {
public:
    CollectivePrices(const Mesh& mesh, const Hardware& hardware);

    /// The least of running the collective on the device groups over all these axes at once, level after level, and by
    /// collectives over some of the axes, one after the other: merged axes are never dearer than that. References stay
    /// valid. A local slice costs nothing.
    const PriceCurve& curve(CollectiveKind kind, const std::vector<int>& axes);
    /// `bytes` is S, the large side on one member. With the start of the collective.
    double seconds(CollectiveKind kind, const std::vector<int>& axes, std::int64_t bytes) { return curve(kind, axes).seconds(bytes); }
    const Footprint& footprint(const std::vector<int>& axes);

    const Mesh& mesh() const { return m_mesh; }
    const Hardware& hardware() const { return *m_hardware; }
    /// Prices on other hardware from now on. Where its levels are joined as before, groups need not be looked for again.
    void setHardware(const Hardware& hardware);

private:
    using Mask = std::uint32_t; ///< of axes with more than one device: there are at most twenty
    Mask maskOf(const std::vector<int>& axes) const;
    std::vector<int> axesOf(Mask mask) const;
    double devicesOf(Mask mask) const;
    const Footprint& footprintBy(Mask mask);
    const PriceCurve& curveBy(CollectiveKind kind, Mask mask);
    void addSplit(std::vector<PricedWay>& ways, CollectiveKind kind, Mask first, Mask second);

    const Mesh& m_mesh;
    const Hardware* m_hardware;
    std::vector<Level> m_levels; ///< that the footprints are of
    std::vector<int> m_bits; ///< by mesh axis: its bit, or -1 for an axis of one device
    std::vector<int> m_axes; ///< by bit
    std::unordered_map<Mask, Footprint> m_footprints;
    std::unordered_map<std::uint64_t, PriceCurve> m_curves; ///< by kind and axes
};

} // namespace shardboard
