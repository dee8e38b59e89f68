// SPDX-License-Identifier: Apache-2.0
#include "model/plan/performance.h"

#include "model/cost/closedforms/modelflops.h"

#include <cmath>

namespace shardboard {

void Performance::rate(double seconds, double devices, double peakFlops)
{
    tokensPerSecondPerDevice = mfu = hfu = 0;
    const double perToken = tokens > 0 ? modelFlops / tokens : 0;
    const double rate = tokens / (seconds * devices);
    if (!std::isfinite(rate))
        return;
    tokensPerSecondPerDevice = rate;
    mfu = modelFlopsUtilization(rate, perToken, peakFlops);
    hfu = mfu * recomputing * padding;
}

} // namespace shardboard
