// SPDX-License-Identifier: Apache-2.0
// What a plan says of values beside the weights, as a compiler that propagates layouts has to be told: where activations and
// their gradients lie, what is gathered at its use, what is kept for the backward pass, where the optimizer works. Pure.
#pragma once

#include "model/design/evaluation.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

/// One activation of a segment. Layouts with partial sums are none that a program can be told: the one after the sum is.
struct ActivationConstraint {
    std::string name; ///< as the plan has it; after the segment's name and a `/` where segments differ
    std::vector<std::string> dims;
    std::vector<Layout> forward; ///< in which it is made, then those in which operations take it
    std::vector<Layout> gradient; ///< the same of its gradient; empty: as it comes
    std::optional<Layout> kept; ///< for the backward pass
};

struct WeightConstraint {
    TensorId tensor = kNoTensor;
    std::optional<Layout> use; ///< in which operations take it; absent: not all in the same
    std::vector<Layout> gradient; ///< to which the sums lead, in order; empty in inference
    std::optional<Layout> optimizer; ///< in which its step is made; absent in inference
};

struct ConstrainedLayers {
    std::string segment;
    std::int64_t first = -1; ///< -1: not a layer
    std::int64_t count = 1;
};

struct Constraints {
    std::vector<ActivationConstraint> activations; ///< in program order, each name once
    std::vector<WeightConstraint> weights; ///< in the order of their first use
    std::vector<ConstrainedLayers> segments; ///< forward
    std::vector<std::string> unsaid; ///< activations left out, because they are cut over a part of a mesh axis
    std::vector<std::string> elsewhere; ///< the same, because the plan cuts a dim that does not divide elsewhere than XLA
    bool rings = false; ///< a ring takes the place of a gather, which no layout says
};

Constraints constraintsOf(const Evaluation& evaluation);

} // namespace shardboard
