// SPDX-License-Identifier: Apache-2.0
#include "model/cost/kernellimits.h"

#include "model/cost/kerneltime.h"

#include <algorithm>

namespace shardboard {

KernelLimits kernelLimits(const KernelWork& work, const Hardware& hardware)
{
    KernelWork none = work;
    none.flops = none.bytes = none.between = 0;
    const auto alone = [&](double KernelWork::*part) {
        KernelWork one = none;
        one.*part = work.*part;
        return lawSeconds(one, hardware);
    };
    // What was measured scales all of it.
    const double law = lawSeconds(work, hardware);
    const double factor = law > 0 ? kernelSeconds(work, hardware) / law : 1;
    return { factor * law, factor * lawSeconds(none, hardware),
             alone(&KernelWork::flops) > std::max(alone(&KernelWork::bytes), alone(&KernelWork::between)) };
}

} // namespace shardboard
