// SPDX-License-Identifier: Apache-2.0
// What is worked out of a design. Pure: the same design always gives the same evaluation.
#pragma once

#include "model/core/finding.h"
#include "model/design/design.h"
#include "model/design/repair.h"
#include "model/design/weightlayout.h"
#include "model/plan/plan.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

/// A finding about a design, with the edit that removes its cause where there is one.
struct DesignFinding : Finding {
    std::optional<Repair> fix;
};

struct Evaluation {
    Graph graph;
    std::vector<WeightLayout> weights; ///< in the order of the model, weights first, then the input `tokens`
    Plan plan;
    std::vector<DesignFinding> findings; ///< worst first
    std::int64_t parameters = 0;
    std::int64_t weightBytes = 0; ///< of the whole model
};

/// What becomes of an entry or rule that cannot be applied to a weight (see Misfit): an error, or a replicated weight and a
/// finding of severity error that carries the repair, so that a design which has some can be opened and mended. The same of
/// an operation that the picker refuses, or that moves an operand where on_reshard is raise.
enum class Misfits { Refuse, Replicate };

/// Runs the flow design -> graph -> layouts -> picker -> plan. It looks for no findings, which takes its time (evaluate() does).
/// Errors name the design's entry or tensor: a strategy that does not fit a tensor, a batch of 0, an unknown mesh axis.
Result<std::shared_ptr<Evaluation>> planOnly(const Design& design, Misfits misfits = Misfits::Refuse);

/// The first misfit of an evaluation that another one (of the design before an edit) does not have.
const Misfit* newMisfit(const Evaluation& evaluation, const Evaluation& before);

} // namespace shardboard
