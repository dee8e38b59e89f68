// SPDX-License-Identifier: Apache-2.0
// The way from one design to another in steps that can be taken one by one: the mesh, a setting, the layout of a weight, pins. What
// each is worth is counted from top to bottom, since one changes what the next is worth.
#pragma once

#include "model/design/compare.h"

#include <atomic>
#include <string>
#include <vector>

namespace shardboard {

struct DesignStep {
    DesignDifference::Part part = DesignDifference::Part::Mesh;
    std::string name; ///< `mesh`, `recompute`, `self_attn.o_proj`, `pins`
    std::string before; ///< what it says; empty: nothing
    std::string after;
    std::string tensor; ///< of a weight: its name
    std::string pin; ///< of one that was set by hand: its text
    int needs = -1; ///< index of the step without which it cannot be taken
    bool byHand = false; ///< a decision made by hand would go
};

/// In the order of DesignDifference::Part; what compareDesigns() tells, each weight by itself. Between designs of other models
/// there is one step, the model.
std::vector<DesignStep> stepsBetween(const Design& before, const Evaluation& beforeEvaluation, const Design& after,
                                     const Evaluation& afterEvaluation);

/// Those that are taken: the ones that are accepted, without those whose need is not.
std::vector<bool> takenSteps(const std::vector<DesignStep>& steps, const std::vector<bool>& accepted);

/// `before` with some of the steps; with all of them it is `after`. `afterEvaluation` is of that.
Design withSteps(const Design& before, const Design& after, const Evaluation& afterEvaluation, const std::vector<DesignStep>& steps,
                 const std::vector<bool>& accepted);

struct StepWorth {
    double seconds = 0; ///< that a step of the design takes longer with it than without
    double bytes = 0; ///< more memory of a device
    std::string refused; ///< why there is no plan with it
};

/// Of each step, what it adds to those above it that are taken. Ends early, with fewer, when `stop` is set.
std::vector<StepWorth> worthOfSteps(const Design& before, const Design& after, const Evaluation& afterEvaluation,
                                    const std::vector<DesignStep>& steps, const std::vector<bool>& accepted,
                                    const std::atomic<bool>* stop = nullptr);

} // namespace shardboard
