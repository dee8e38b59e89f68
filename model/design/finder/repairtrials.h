// SPDX-License-Identifier: Apache-2.0
// Plans repairs of whole weights before they are offered: a cut that moves the activations instead can take more than it gives.
#pragma once

#include "model/design/finder/finder.h"

#include <string>
#include <unordered_map>

namespace shardboard {

class RepairTrials {
public:
    enum class Answer {
        Gains, ///< a device holds less
        Loses,
        Untried, ///< so many were planned for this design that an edit would have to wait for more
    };
    /// What a step may take longer for it.
    enum class Time { Any, None };

    explicit RepairTrials(const FinderInput& input)
        : m_input(input)
    {
    }
    /// No stage's peak may grow, and all together must hold less of weights. Time counts for nothing where the design does not fit.
    /// Weights without a graph have no plan: each gains that is cut.
    Answer of(const Repair& repair, Time time);

private:
    Answer planned(const Repair& repair, Time time) const;

    const FinderInput& m_input;
    std::unordered_map<std::string, Answer> m_known; ///< findings of one entry may have one repair
};

} // namespace shardboard
