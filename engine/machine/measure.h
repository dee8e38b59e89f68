// SPDX-License-Identifier: Apache-2.0
// Takes samples until they settle. Knows nothing of clocks or of what is measured, so that it is tested with made-up times.
#pragma once

#include <functional>
#include <vector>

namespace shardboard::engine {

struct MeasureRules {
    int trials = 7; ///< in a round, of which the median is taken; at least 5 make a median that one disturbance does not move
    int mostRounds = 6;
    double agree = 0.02; ///< settled when the medians of two rounds differ by no more than this part
    double mostSeconds = 1.0; ///< no round begins after trials of so many seconds
};

struct Measured {
    std::vector<double> samples; ///< of the last round, in seconds
    double median = 0;
    double spread = 0; ///< distance of the quartiles, by the median
    bool settled = false; ///< false: it was disturbed, or time was up
};

/// `trial` does the work once and says how many seconds it took. The rounds before the last one are the warm-up.
Measured measure(const std::function<double()>& trial, const MeasureRules& rules = {});

} // namespace shardboard::engine
