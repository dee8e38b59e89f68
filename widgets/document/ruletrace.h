// SPDX-License-Identifier: Apache-2.0
// What the logical axis rules do: for the whole model what each rule decides and loses, and for one weight which rule
// decided each dim, which were skipped and why. Pure functions; rules are counted from 1 in texts.
#pragma once

#include "model/design/evaluation.h"

#include <QString>

#include <vector>

namespace shardboard {

/// What one rule does in the model. Repeated layers count once; the dims of weights and inputs count.
struct RuleUse {
    int decided = 0; ///< dims that it gives their axes
    int lost = 0; ///< dims on which it was skipped because an axis was taken
    int dims = 0; ///< dims that have its name, whether the rules decide them or a strategy hides them
    int shadowedBy = -1; ///< a rule above it with the same name that fits whenever this one would: it can never apply
    QString story; ///< a sentence: what it decides, loses, or why it can never apply
};

/// One for each rule of the design.
std::vector<RuleUse> ruleUses(const Design& design, const Evaluation& evaluation);

/// One rule that names the dim, and what became of it.
struct TraceRule {
    int rule = 0;
    RuleOutcome outcome = RuleOutcome::Decided;
    QString
        text; ///< `rule 67 → fsdp, fsdp_transpose: skipped, fsdp_transpose (size 1, does nothing) already cuts dim 1 by rule 65`
};

struct TraceDim {
    QString title; ///< `dim 0 · embed`
    QString verdict; ///< axes that cut it: `fsdp, context`; or why none does: `replicated: no rule for the name`
    int decidedBy = -1;
    bool lost = false; ///< an axis of more than one device was asked for and got lost
    std::vector<TraceRule> rules; ///< in rule order
};

struct WeightTrace {
    std::vector<TraceDim> dims;
    QString hidden; ///< why the rules do not decide: the strategy entry that does; empty when they do
    QString problem; ///< why the rules cannot be resolved for this weight
};

/// Nothing where the weight has no logical names. For a weight that a strategy decides, what the rules would say.
WeightTrace traceOf(const Design& design, const WeightLayout& weight);

} // namespace shardboard
