// SPDX-License-Identifier: Apache-2.0
#include "model/cost/kernellimits.h"

#include "model/cost/kerneltime.h"

#include <algorithm>

namespace shardboard {

KernelLimits kernelLimits(const KernelWork& work, const Hardware& hardware)
{
    KernelWork kernel = work;
    kernel.hostLaunches = 0;
    KernelWork none = kernel;
    none.flops = none.bytes = none.between = 0;
    const auto alone = [&](double KernelWork::*part) {
        KernelWork one = none;
        one.*part = kernel.*part;
        return kernelSeconds(one, hardware);
    };
    return { kernelSeconds(kernel, hardware), kernelSeconds(none, hardware),
             alone(&KernelWork::flops) > std::max(alone(&KernelWork::bytes), alone(&KernelWork::between)) };
}

} // namespace shardboard
