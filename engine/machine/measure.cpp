// SPDX-License-Identifier: Apache-2.0
#include "engine/machine/measure.h"

#include "model/core/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardboard::engine {

Measured measure(const std::function<double()>& trial, const MeasureRules& rules)
{
    Measured out;
    double spent = 0;
    for (int round = 0; round < std::max(1, rules.mostRounds); ++round) {
        if (round > 0 && spent >= rules.mostSeconds)
            break;
        const double before = out.median;
        out.samples.clear();
        for (int i = 0; i < std::max(1, rules.trials); ++i)
            out.samples.push_back(trial());
        spent = std::accumulate(out.samples.begin(), out.samples.end(), spent);
        const Spread spread = spreadOf(out.samples);
        out.median = spread.median;
        out.spread = spread.median > 0 ? (spread.quartile3 - spread.quartile1) / spread.median : 0;
        out.settled = round > 0 && std::abs(out.median - before) <= rules.agree * out.median;
        if (out.settled)
            break;
    }
    return out;
}

} // namespace shardboard::engine
