// SPDX-License-Identifier: Apache-2.0
// What is drawn of a lane at a zoom: an interval that is narrower than two pixels joins its neighbours, so that the work of a frame
// follows the pixels and not the intervals. Pure.
#pragma once

#include "model/timeline/lanes.h"

#include <cstddef>
#include <vector>

namespace shardboard {

/// Made once of a lane; tells the seconds of many intervals by kind without going through all of them.
class LaneSums {
public:
    LaneSums() = default;
    explicit LaneSums(const Lane& lane);
    /// Of the intervals from `first` up to `end`, into `out`.
    void add(const Lane& lane, std::size_t first, std::size_t end, std::array<double, kIntervalKinds>& out) const;

private:
    static constexpr std::size_t kStride = 32;
    std::vector<std::array<double, kIntervalKinds>> m_until; ///< sums of the intervals before each multiple of the stride
};

/// In pixels from the left edge of the window, which is `from`.
struct LaneBlock {
    double left = 0;
    double right = 0;
    IntervalKind kind = IntervalKind::Other; ///< of joined ones that which takes most of the time
    bool joined = false;
    float filled = 1; ///< share of the block in which there is something
    std::size_t first = 0; ///< index into Lane::intervals
    std::size_t count = 1;
};

/// The part of time that is seen.
struct TimeWindow {
    double from = 0; ///< seconds
    double secondsPerPixel = 1;
    int width = 0; ///< pixels
    double to() const { return from + secondsPerPixel * width; }
    double pixelOf(double seconds) const { return (seconds - from) / secondsPerPixel; }
    double timeAt(double pixel) const { return from + pixel * secondsPerPixel; }
};

/// Appends to `out`, from left to right; blocks do not overlap, and lie within the window.
void laneBlocks(const Lane& lane, const LaneSums& sums, const TimeWindow& window, std::vector<LaneBlock>& out);

/// Index of the interval of a lane at a time, or the nearest one within `slack` seconds; -1: none.
std::ptrdiff_t intervalAt(const Lane& lane, double time, double slack);

/// Steps of the ruler: 1, 2 or 5 times a power of ten, at least `least` apart (seconds).
double rulerStep(double least);

} // namespace shardboard
