// SPDX-License-Identifier: Apache-2.0
// The colours of all parts of a cut. Up to seven parts have a hue each (partColor()). More are told apart by lightness, in order:
// from dark to light along the longest mesh axis that cuts, in the hue of that axis; where other axes cut as well, the hue goes
// from that of the longest axis to that of the next one. A value type.
#pragma once

#include "model/core/shards.h"
#include "widgets/look/hues.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardboard {

class PartColors {
public:
    PartColors() = default; ///< of one part
    explicit PartColors(const ShardMap& shards);
    /// One part for each place along a mesh axis; -1: one part.
    PartColors(const Mesh& mesh, int axis);

    std::int64_t count() const { return m_count; }
    /// Lightness tells the parts apart.
    bool isRamp() const;
    int rampAxis() const { return m_main.axis; } ///< along which it goes; -1: none
    int shiftAxis() const { return m_shift; } ///< whose hue the other end has; -1: one hue is enough
    PartColor at(std::int64_t part) const;
    /// Parts that look alike have the same ink: neighbours among very many.
    std::size_t inkCount() const;
    std::size_t inkOf(std::int64_t part) const;
    PartColor ink(std::size_t index) const;
    friend bool operator==(const PartColors&, const PartColors&) = default;

private:
    /// A mesh axis that cuts, or a part of it.
    struct Factor {
        int axis = -1;
        std::int64_t size = 1;
        std::int64_t stride = 1; ///< parts between two steps
        friend bool operator==(const Factor&, const Factor&) = default;
    };
    void set(const Mesh& mesh, const std::vector<Factor>& factors); ///< major first
    PartColor rampInk(std::size_t index) const;

    std::int64_t m_count = 1;
    Factor m_main;
    int m_shift = -1;
    int m_hue = 0;
    int m_otherHue = 0;
};

} // namespace shardboard
