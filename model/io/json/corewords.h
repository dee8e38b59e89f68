// SPDX-License-Identifier: Apache-2.0
// The words that enumerations of model/core have in every document.
#pragma once

#include "model/core/cutrule.h"
#include "model/core/strategy.h"
#include "model/core/tensor.h"
#include "model/io/json/jsonmembers.h"

namespace shardboard {

inline auto jsonWords(DType) { return JsonWords { dtypeName, dtypeFromName, "a type such as bf16 or f32" }; }
inline auto jsonWords(StrategyKind)
{
    return JsonWords { strategyKindName, strategyKindFromName,
                       "replicate, rowwise, columnwise, axiswise, head-aware-columnwise, stacked-qkv, gate-up, segmented or spec" };
}
inline auto jsonWords(CutRule)
{
    return JsonWords { cutRuleName, cutRuleFromName, "strict, ceil-flat, ceil-nested, balanced or grain-balanced" };
}

} // namespace shardboard
