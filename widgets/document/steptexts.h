// SPDX-License-Identifier: Apache-2.0
// A step of the plan in words. Pure.
#pragma once

#include "model/design/evaluation.h"
#include "model/plan/plansteps.h"

#include <QString>

namespace shardboard {

/// `all-gather over model`, `mlp.down_proj`.
QString stepTitle(const Evaluation& evaluation, const PlanStep& step);
/// Of a collective what it moves, how long it takes and in which groups: `128 MiB · 43 µs · groups of 4`; of an operation its kind
/// and time; how often the segment runs, where it is more than once.
QString stepDetail(const Evaluation& evaluation, const PlanStep& step);
/// All of it that a search looks through.
QString stepSearchText(const Evaluation& evaluation, const PlanStep& step);

} // namespace shardboard
