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
        return kernelSeconds(one, hardware);
    };
    return { kernelSeconds(work, hardware), kernelSeconds(none, hardware),
             alone(&KernelWork::flops) > std::max(alone(&KernelWork::bytes), alone(&KernelWork::between)) };
}

} // namespace shardboard
