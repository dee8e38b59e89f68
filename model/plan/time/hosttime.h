// SPDX-License-Identifier: Apache-2.0
// Steps in which devices wait for the host: of many small kernels each takes longer to start than to run.
#pragma once

#include "model/hardware/hardware.h"
#include "model/plan/plan.h"

namespace shardboard {

/// Training is started from Python, step by step; what serves has recorded its graphs.
bool startsFromHost(const Plan& plan, const Hardware& hardware);

/// Makes the operations of every part of a training step take as long as the host needs to start them, where that is longer: the
/// rest is added to each by its part of the host's time. The host runs ahead while long kernels work, so that it is the sums that
/// count.
void waitForHost(Plan& plan, const Hardware& hardware);

} // namespace shardboard
