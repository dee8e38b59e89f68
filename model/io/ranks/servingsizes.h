// SPDX-License-Identifier: Apache-2.0
// Sizes of the groups of a serving framework, from what a design cuts over which mesh axes.
#pragma once

#include "model/io/ranks/axisuse.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

struct ServingSizes {
    AxisUse use;
    std::int64_t tensor = 1;
    std::int64_t stages = 1;
    std::int64_t data = 1;
    std::int64_t expert = 1; ///< over how many ranks experts are dealt
    std::int64_t expertTensor = 1; ///< over how many the width of an expert is cut
    /// Experts lie over the data axes too, so that the copies are one program; else each copy is a server of its own.
    bool jointExperts = false;
    std::vector<std::int64_t> layers {}; ///< of each stage
};
ServingSizes servingSizes(const Design& design, const Evaluation& evaluation);

/// What no serving framework takes: training, FSDP, a cut sequence, several runs of layers on a stage, experts over something else
/// than tensor ranks or all ranks; and device ids that do not count over these axes, the slowest first.
std::vector<ExportRefusal> servingRefusals(const Design& design, const ServingSizes& sizes, const std::string& framework,
                                           const std::vector<std::vector<int>>& slowestFirst);

/// What stays unsaid because a server decides about it: pins, overlap, batches.
std::vector<std::string> servingLeftOut(const Design& design, const Evaluation& evaluation, const std::string& framework);

/// Which device ids each copy of the model has, of copies that are servers of their own: `0,1,2,3`.
std::vector<std::string> devicesOfCopies(std::int64_t copySize, std::int64_t copies);

} // namespace shardboard
