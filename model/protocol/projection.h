// SPDX-License-Identifier: Apache-2.0
// What a run says about another machine: computation as it was measured here, communication as the cost model has it for the
// target. A mixture, and never a measurement of the target; every text and document that shows it says so.
#pragma once

#include "model/plan/plan.h"
#include "model/protocol/messages.h"

#include <string>
#include <vector>

namespace shardboard {

struct Projection {
    std::string target; ///< id of the hardware, or its file
    double computeSeconds = 0; ///< measured: operations of what ran, of the slowest logical device
    double collectiveSeconds = 0; ///< modelled: collectives of what ran, one after the other
    double wholeComputeSeconds = 0; ///< the same for all layers of the design
    double wholeCollectiveSeconds = 0;
    std::vector<std::string> notRun; ///< operations of the design that did not run, so that the whole cannot be told

    double stepSeconds() const { return computeSeconds + collectiveSeconds; }
    double wholeSeconds() const { return wholeComputeSeconds + wholeCollectiveSeconds; }
    /// For people: which part of it is which.
    std::string statement() const;
};

/// `plan` is the one that ran, made for the target hardware.
Projection project(const RunResult& result, const Graph& graph, const Plan& plan, const std::string& target);

/// `projection` of the run document: {"hardware":…,"compute":"measured","communication":"modelled","compute_seconds":x,
/// "collective_seconds":x,"step_seconds":x,"whole_model":{…the same three…} or null,"not_run":[…],"statement":…}
nlohmann::json toJson(const Projection& projection);

} // namespace shardboard
