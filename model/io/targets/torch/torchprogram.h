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

/// The same as Python constants.
std::string programCode(const Design& design, const TorchProgram& program);

} // namespace shardboard
