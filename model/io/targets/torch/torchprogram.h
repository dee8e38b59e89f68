// SPDX-License-Identifier: Apache-2.0
// What each mesh axis is for in the program of a plan, in the words of PyTorch's parts: tensor and sequence parallel, context
// parallel, FSDP, copies whose gradients are summed.
#pragma once

#include "model/design/evaluation.h"

#include <string>
#include <vector>

namespace shardboard {

struct TorchProgram {
    int tensorAxis = -1; ///< over which weights are used in parts
    bool sequenceParallel = false; ///< the residual stream is cut over it on its sequence
    int contextAxis = -1; ///< over which every device has a part of the sequence
    std::vector<int> gatheredAxes; ///< over which weights are cut, and gathered where they are used
    std::vector<int> summedAxes; ///< over which weights are copies, and their gradients are summed
    std::vector<std::string> notRun; ///< why no parts of torch run the design so; its weights are laid out all the same
};

TorchProgram torchProgram(const Design& design, const Evaluation& evaluation);

/// Recomputing by operation in all layers, for which the module has its own way between none and all.
bool recomputesSelectively(const Workload& workload);

/// The same as Python constants. `keepsGathered`: weights of layers stay gathered from forward to backward pass.
std::string programCode(const Design& design, const TorchProgram& program, bool keepsGathered);

} // namespace shardboard
