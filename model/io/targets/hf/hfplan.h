// SPDX-License-Identifier: Apache-2.0
// A design as plans of Hugging Face transformers: a style for each module, by generation, because styles and modules' names differ.
#pragma once

#include "model/io/ranks/axisuse.h"

#include <map>
#include <string>
#include <vector>

namespace shardboard {

/// Styles by module (or parameter) name with `*` for the number of a layer, as the model with its head names them.
using HfStyles = std::map<std::string, std::string>;

struct HfPlan {
    AxisUse use;
    HfStyles five; ///< transformers 5
    HfStyles fiveExperts; ///< its expert-parallel plan
    HfStyles four; ///< transformers 4.5x
    std::string noFour; ///< why there is none for it, a phrase; empty when there is one
    /// Parameters of transformers 5 and the weights they are made of, one after the other on dim 1 where there are two: by their
    /// names after the layer's number.
    std::map<std::string, std::vector<std::string>> madeOf;
    std::vector<ExportRefusal> refusals; ///< what no plan of the newer generation can say
};

HfPlan hfPlan(const Design& design, const Evaluation& evaluation);

} // namespace shardboard
