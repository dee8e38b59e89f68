// SPDX-License-Identifier: Apache-2.0
// What each mesh axis of a design does, in the words of frameworks that know sizes alone: tensor, data, expert, context and
// pipeline parallelism. It follows from what is cut, not from the axes' names.
#pragma once

#include "model/io/exports/exportfiles.h"

#include "model/design/evaluation.h"

#include <optional>
#include <string>
#include <vector>

namespace shardboard {

/// Mesh axes of more than one device, in mesh order.
struct AxisUse {
    std::vector<int> tensor; ///< cut weights, and no input
    std::vector<int> sharded; ///< cut weights and the batch: fully sharded data parallelism
    std::vector<int> context; ///< cut the sequence, and no weight
    std::vector<int> data; ///< all others: they cut the batch, or nothing
    std::vector<int> stage; ///< of the pipeline; one or none
    std::vector<int> expert; ///< cut the experts' own dim; each is one of the others as well
    std::vector<int> expertTensor; ///< cut another dim of experts
};
AxisUse axisUse(const Design& design, const Evaluation& evaluation);

/// Adds a sentence where the batch is whole over mesh axes that hold copies: frameworks give each of their ranks another part of
/// it.
void addWholeBatch(std::vector<std::string>& leftOut, const Design& design, const Evaluation& evaluation,
                   const std::string& framework);

/// A dim of a weight that the experts of a layer lie along.
bool isExpertDim(const TensorSpec& spec, std::size_t dim);
bool isExpertWeight(const TensorSpec& spec);

/// Names of mesh axes: `data and model`.
std::string axisNames(const Mesh& mesh, const std::vector<int>& axes);

/// Refused: device ids that are not row-major over these axes, the slowest first, as the framework numbers its ranks.
std::optional<ExportRefusal> orderRefusal(const Mesh& mesh, const std::string& framework,
                                          const std::vector<std::vector<int>>& slowestFirst);

/// Refused: a few weights that are cut over the axes of fully sharded data parallelism, over which most are whole. Frameworks cut
/// all of them over such axes, or none.
std::optional<ExportRefusal> fewShardedRefusal(const Design& design, const Evaluation& evaluation, const AxisUse& use,
                                               const std::string& framework);

/// Layers that lie on one stage without a break.
struct StageRun {
    std::int64_t stage = 0;
    std::int64_t layers = 0;
};
/// In the order of the layers; one run of all layers without a pipeline.
std::vector<StageRun> stageRuns(const Design& design, const Evaluation& evaluation);

} // namespace shardboard
