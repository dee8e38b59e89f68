// SPDX-License-Identifier: Apache-2.0
// What stands in the way of an export to most frameworks: weights that it would cut elsewhere than the plan does.
#pragma once

#include "model/core/cutrule.h"
#include "model/design/evaluation.h"
#include "model/io/exports/exportfiles.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

/// What a framework can say of a weight.
struct TargetLimits {
    std::string framework; ///< `JAX`
    CutRule cut = CutRule::Strict; ///< where it cuts a dim that does not divide
    bool stages = false; ///< layers may lie on the devices of a pipeline's stage alone
    bool subAxes = false;
    bool partial = false; ///< each device along a mesh axis may have a term of a sum, whose maker the design does not know
    bool ownModules = false; ///< it builds the model itself, without the modules that predict further tokens
    bool ownCuts = false; ///< where it cuts a dim is for the target to compare: `cut` is not looked at
};

/// Refused: a weight whose shards in the plan are others than the framework cuts (a dim that does not divide, whole heads, fused
/// segments, a sub-axis), one of unknown shape, one whose strategy does not fit it, two of one name; a pipeline of two stages or
/// more where there are no stages; so many devices that shards.json gets too large. Cancelled when `stopped` says so.
Result<std::vector<ExportRefusal>> commonRefusals(const Design& design, const Evaluation& evaluation, const TargetLimits& limits,
                                                  const std::function<bool()>& stopped = {});

/// Refused where a framework builds the model itself: the modules that predict further tokens are not in it.
std::optional<ExportRefusal> predictedRefusal(const Design& design, const std::string& framework);

/// Why a framework has other shards of this weight than the plan; nothing when they are the same.
std::optional<Error> weightRefusal(const WeightLayout& weight, const Mesh& mesh, const TargetLimits& limits);

/// Of weights that are packed (TensorSpec::packing): all, where the framework is told layouts by name; where it loads the packed
/// checkpoint itself, those whose parts are no whole blocks.
std::vector<ExportRefusal> packedRefusals(const Evaluation& evaluation, const std::string& framework, bool loadsPacked);

/// Weights of the model, each layer apart, inputs left out.
std::int64_t weightCount(const Evaluation& evaluation);

/// The names under which a weight of a repeated layer is said: the one with `*` where it stands for all `layers` of the model, else
/// each concrete one.
std::vector<std::string> namePatterns(const WeightLayout& weight, std::int64_t layers);

} // namespace shardboard
