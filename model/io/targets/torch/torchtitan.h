// SPDX-License-Identifier: Apache-2.0
// A design in the words of TorchTitan: degrees of its five kinds of parallelism, which it lays over the ranks in its own order.
#pragma once

#include "model/io/targets/torch/torchprogram.h"

#include <string>
#include <vector>

namespace shardboard {

/// `TITAN = {…}` with what TorchTitan's config gets, and `NOT_TITAN = (…)` with the reasons why it would do something else than the
/// design says; one of them is empty.
std::string titanCode(const Design& design, const Evaluation& evaluation, const TorchProgram& program, int stageAxis);

/// Whether there is a config.
bool isForTitan(const Design& design, const Evaluation& evaluation, const TorchProgram& program, int stageAxis);

} // namespace shardboard
