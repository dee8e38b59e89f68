// SPDX-License-Identifier: Apache-2.0
// The pattern that says how a parameter is made of its sources: `(heads head_dim) in -> in heads head_dim`. Behind
// parameternames.h.
//
// On the left stand the dims of a source, on the right those of the parameter; a dim is a factor or several in brackets, major
// first. A factor is a name or a size. `+rows` is the one along which sources are joined. `experts:*` and `half 2:0` after a
// colon are no dims of the parameter: it is one of many, or holds one index.
#pragma once

#include "model/core/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

struct ViewFactor {
    std::string label;
    std::int64_t size = 0; ///< 0: the model or the shape tells
    std::int64_t taken = -1; ///< NameFactor::taken
    bool joined = false;
};

struct ViewPattern {
    std::vector<ViewFactor> factors;
    std::vector<std::vector<int>> from;
    std::vector<std::vector<int>> dims;
};

/// Rules: every factor once on the left; on the right once, or never when it is taken; at most one is joined.
Result<ViewPattern> parseView(const std::string& text, const std::string& where);

} // namespace shardboard
