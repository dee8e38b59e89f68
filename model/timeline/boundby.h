// SPDX-License-Identifier: Apache-2.0
// What limits an operation or collective, and which constant of the hardware the prediction of its time depends on the most: the
// one to look at where a measurement says otherwise. Asked of the cost model itself, with the others left out, so that nothing is
// said twice.
#pragma once

#include "model/hardware/hardware.h"
#include "model/plan/plan.h"

#include <string>

namespace shardboard {

struct BoundBy {
    std::string what; ///< arithmetic, memory, kernel start, host; of a collective a link, or its latency
    std::string constant; ///< key in a hardware file: kernels.gemm_efficiency, nvlink4.bytes_per_second
};

BoundBy boundBy(const PlannedOp& op, const Hardware& hardware);
BoundBy boundBy(const Collective& collective, const Mesh& mesh, const Hardware& hardware);

} // namespace shardboard
