// SPDX-License-Identifier: Apache-2.0
// Predicted against measured, an operation or collective a row: where a step loses time to what was predicted, what limits it, and
// which constant of the hardware is responsible.
#pragma once

#include "model/hardware/hardware.h"
#include "model/io/wire/messages.h"
#include "model/timeline/lanes.h"

#include <optional>
#include <string>
#include <vector>

namespace shardboard {

/// Seconds are of all its occurrences in the step.
struct ErrorRow {
    std::string id;
    std::string kind;
    bool collective = false;
    std::int32_t item = -1; ///< index into the items; -1: the plan does not have it
    std::int64_t count = 0;
    double predicted = 0;
    double measured = 0;
    std::string boundBy; ///< what limits it as predicted: arithmetic, memory, a link, …
    std::string constant; ///< of the hardware, that the prediction depends on the most
    double lost() const { return measured - predicted; }
    /// Of what was predicted: 0.1 took a tenth longer. Nothing where nothing was predicted.
    std::optional<double> error() const;
};

struct ErrorTable {
    std::vector<ErrorRow> rows; ///< the most seconds first, lost or won
    double predicted = 0; ///< of the step: what the rows add up to
    double measured = 0;
    std::int64_t step = -1; ///< that they are of; -1: medians over all steps
};

/// `profile` null or without a whole step: medians over the steps of the result, whose sum need not be the median of the steps; the
/// difference is a row of its own. `plan` null: what limits them is not told.
ErrorTable errorTable(const RunResult& result, const RunProfile* profile, std::int64_t step, const std::vector<TimelineItem>& items,
                      const Plan* plan, const Hardware& hardware);

} // namespace shardboard
