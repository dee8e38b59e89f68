// SPDX-License-Identifier: Apache-2.0
// Logical axis rules as MaxText and flax have them: an ordered list of (logical name, mesh axes) that turns the logical
// names of a tensor's dims into a spec. Value types and one pure function; shapes and sizes play no part here.
#pragma once

#include "model/core/mesh.h"

#include <string>
#include <vector>

namespace shardboard {

struct LogicalRule {
    std::string name; ///< logical name of a tensor dim: embed, mlp, exp
    std::vector<std::string> axes; ///< mesh axes, major first; empty: the dim is replicated and later rules are not asked
    std::string place; ///< where it was written, `base.yml:606`; empty for a rule made by hand. Not part of equality.
    friend bool operator==(const LogicalRule& a, const LogicalRule& b) { return a.name == b.name && a.axes == b.axes; }
};

/// What became of a rule that names one of the tensor's dims.
enum class RuleOutcome {
    Decided, ///< it gives the dim its axes
    DimDecided, ///< a rule above it had decided the dim
    AxisTaken ///< one of its axes already cuts another dim (or this tensor), so the whole rule is skipped
};

/// One rule that was tried on one dim, in rule order.
struct RuleTrial {
    int rule = 0; ///< index into the rules
    int dim = 0;
    RuleOutcome outcome = RuleOutcome::Decided;
    std::string axis; ///< AxisTaken: the first axis of the rule that was taken
    int takenByDim = -1; ///< AxisTaken: by which dim
    int takenByRule = -1; ///< AxisTaken: by which rule
};

struct Resolution {
    std::vector<std::vector<std::string>> spec; ///< per tensor dim its mesh axes, major first, size-one axes included
    std::vector<int> decidedBy; ///< per tensor dim the rule, -1: no name, or no rule for the name fitted
    std::vector<RuleTrial> trials; ///< every rule that names a dim of the tensor, top to bottom
};

/// Rule order decides, not dim order; a rule with any axis already taken is skipped whole; an empty rule is final; a
/// name without a rule is replicated. An empty string in `names` is an unnamed dim. Error: a name twice among the dims.
/// Source: maxtext rules as flax resolves them; the axes' sizes do not matter.
Result<Resolution> resolveNames(const std::vector<std::string>& names, const std::vector<LogicalRule>& rules,
                                const std::string& where);

/// Mesh axes that rules above the deciding one asked for on this dim and that cut no dim of the tensor in the end: the
/// tensor is replicated over them because of a conflict.
std::vector<std::string> lostAxes(const Resolution& resolution, const std::vector<LogicalRule>& rules, int dim);

/// One sentence per dim: `dim 0 (embed): rule 68 (base.yml:606) fsdp=16, context=1; skipped rule 67 (base.yml:605)
/// fsdp, fsdp_transpose: fsdp_transpose, of size 1, already cuts dim 2 by rule 65 (base.yml:602)`. Rules count from 1.
/// The mesh gives the sizes, so that a loss to an axis of one device is told as such.
std::vector<std::string> explainResolution(const std::vector<std::string>& names, const std::vector<LogicalRule>& rules,
                                           const Resolution& resolution, const Mesh& mesh);

} // namespace shardboard
