// SPDX-License-Identifier: Apache-2.0
// Logical axis rules that give every tensor the layout that a design has for it, where there are such rules.
#pragma once

#include "model/rules/logicalrules.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

/// A parameter with the logical names of its dims and the mesh axes that its dims are to be cut over, size-one axes left out.
struct RuleTensor {
    std::string name; ///< of the parameter, for people
    std::vector<std::string> names; ///< empty for a dim without a name
    std::vector<std::vector<std::string>> wanted;
};

/// A tensor that no rules lay out as wanted, together with all others.
struct RuleConflict {
    std::size_t tensor = 0; ///< index into the tensors
    std::size_t dim = 0;
    std::size_t other =
        0; ///< a tensor that wants something else of the same logical name; the same tensor where the dim has no name
};

struct RuleSearch {
    std::vector<LogicalRule> rules;
    std::vector<RuleConflict> conflicts; ///< empty: the rules give all tensors what they want
};

/// Complete: finds rules wherever some rule set, in whatever order, gives all tensors what they want.
RuleSearch searchRules(const std::vector<RuleTensor>& tensors);

} // namespace shardboard
