// SPDX-License-Identifier: Apache-2.0
// What limits the time of a kernel, asked of the model of its time (kerneltime.h) with the other parts left out, so that nothing is
// said twice.
#pragma once

#include "model/cost/kernelwork.h"
#include "model/hardware/hardware.h"

namespace shardboard {

struct KernelLimits {
    double device = 0; ///< seconds, without what it waits for the host
    double start = 0; ///< seconds of them that its start takes
    bool computes = false; ///< its FLOPs take longer than its bytes, and than what is moved between its kernels
};
KernelLimits kernelLimits(const KernelWork& work, const Hardware& hardware);

} // namespace shardboard
