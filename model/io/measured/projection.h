// SPDX-License-Identifier: Apache-2.0
// What a run says about another machine: computation as it was measured here, communication as the cost model has it for the
// target, and for the whole model what the cost model says of both together: which collectives hide behind computation
// (model/plan/time/steptime.h) and how long the stages of a pipeline wait (model/plan/pipeline.h), from the measured seconds. A
// mixture, and never a measurement of the target; every text and document that shows it says so.
#pragma once

#include "model/io/wire/messages.h"
#include "model/plan/plan.h"

#include <optional>
#include <string>
#include <vector>

namespace shardboard {

struct Projection {
    std::string target; ///< id of the hardware, or its file
    double computeSeconds = 0; ///< measured: operations of what ran, of the slowest logical device
    double collectiveSeconds = 0; ///< modelled: collectives of what ran, one after the other
    double wholeComputeSeconds = 0; ///< the same for all layers of the design
    double wholeCollectiveSeconds = 0;
    Overlap overlap = Overlap::None; ///< of the design
    double exposedSeconds = 0; ///< part of wholeCollectiveSeconds in which the devices do not compute
    /// Of the design, with the seconds of what is above. The sums above count the work of all stages.
    std::optional<PlannedPipeline> pipeline {};
    std::int64_t microBatches = 1;
    std::vector<std::string> notRun; ///< operations of the design that did not run, so that the whole cannot be told

    double stepSeconds() const { return computeSeconds + collectiveSeconds; }
    /// Of a step of the whole model.
    double wholeSeconds() const { return pipeline ? pipeline->seconds() : wholeComputeSeconds + exposedSeconds; }
    /// For people: which part of it is which.
    std::string statement() const;
};

/// `plan` is the one that ran, made for the target hardware.
Projection project(const RunResult& result, const Graph& graph, const Plan& plan, const std::string& target);

/// `projection` of the run document: {"hardware":…,"compute":"measured","communication":"modelled","compute_seconds":x,
/// "collective_seconds":x,"step_seconds":x,"whole_model":{…the same
/// three…,"exposed_collective_seconds":x,"overlap":…,"pipeline":null or
/// {"stages":n,"chunks":n,"micro_batches":n,"stage_seconds":x,"bubble_seconds":x,"update_seconds":x}} or null,"not_run":[…],
/// "statement":…}; what ran is told one after the other, overlap and bubbles are of the whole model.
nlohmann::json toJson(const Projection& projection);

} // namespace shardboard
