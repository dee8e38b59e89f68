// SPDX-License-Identifier: Apache-2.0
// Explains what an evaluated design does. Nothing of it is made with the plan: the picker is run again for the one operation
// that is asked about.
#pragma once

#include "model/design/evaluation.h"
#include "model/design/explain/explanation.h"

#include <atomic>

namespace shardboard {

/// What a name means: a collective's id, an operation (`block/self_attn.q_proj`, `self_attn.q_proj`), a weight (with `*` or
/// a layer's number) or an activation; the last part of such a name; or a glob, which can mean many. Of a planned segment
/// that has variants (`block 0`, `block 1-31`) all are meant unless the layer is given. Operations come before tensors of
/// the same name. Errors: nothing has that name; near ones are told.
Result<std::vector<ExplainTarget>> explainTargets(const Evaluation& evaluation, const std::string& asked);

ExplainTarget collectiveTarget(const Evaluation& evaluation, CollectiveId collective);
/// `segment` and `op` as in ExplainTarget.
ExplainTarget operationTarget(const Evaluation& evaluation, PlannedSegmentId segment, PlannedOpId op);
ExplainTarget weightTarget(const Evaluation& evaluation, int weight);

struct ExplainOptions {
    int effects = 0; ///< for so many alternatives, the cheapest first, the design is evaluated with their edit
    const std::atomic<bool>* stop = nullptr; ///< once it is set no more effects are evaluated
};

Explanation explain(const Design& design, const Evaluation& evaluation, const ExplainTarget& target,
                    const ExplainOptions& options = {});

/// What an edit leads to.
EditEffect effectOf(const Design& design, const Evaluation& evaluation, const Repair& edit);

/// The planned operation of an explanation, or null.
const PlannedOp* explainedOp(const Evaluation& evaluation, const Explanation& explanation);
/// `block/self_attn.q_proj`
std::string operationId(const Evaluation& evaluation, PlannedSegmentId segment, PlannedOpId op);

} // namespace shardboard
