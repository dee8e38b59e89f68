// SPDX-License-Identifier: Apache-2.0
// Whether an edit of strategies can be made, without planning: what a view asks for each of the many edits that it could offer.
#pragma once

#include "model/design/evaluation.h"

#include <optional>

namespace shardboard {

/// What evaluate(edited, Misfits::Replicate) and newMisfit() say of an edit that changes nothing but strategies, in a small part of
/// their time. Nothing where only they can tell: something else was changed, entries tell layers apart, or a layout uses a part of
/// a mesh axis.
std::optional<Status> checkStrategies(const Design& edited, const Design& design, const Evaluation& evaluation);

} // namespace shardboard
