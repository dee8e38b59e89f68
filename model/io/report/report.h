// SPDX-License-Identifier: Apache-2.0
// A design as one self-contained HTML page that needs no network: mesh, layouts, findings, cost, memory, the timeline of a step,
// other designs beside it, and a run where there is one. Pictures are inline SVG; it follows the reader's light or dark theme, and
// prints.
#pragma once

#include "model/design/design.h"
#include "model/design/evaluation.h"
#include "model/hardware/hardware.h"
#include "model/io/wire/messages.h"
#include "model/io/wire/profile.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

struct ReportedDesign {
    std::string name; ///< of its file, for people
    Design design;
    std::shared_ptr<const Evaluation> evaluation;
};

struct ReportedRun {
    std::string name;
    std::string made; ///< UTC; empty: not known
    RunResult result;
    std::optional<RunProfile> profile {};
};

struct ReportInput {
    ReportedDesign design; ///< of a model that is understood, so that there is a plan
    Hardware hardware; ///< that it is for
    std::vector<ReportedDesign> others {}; ///< compared with it
    std::optional<ReportedRun> run {}; ///< of this design
    std::optional<ReportedRun> otherRun {}; ///< of any, that is compared with it
    std::string made; ///< UTC
    std::string program; ///< `shardctl 1.0`
};

std::string reportHtml(const ReportInput& input);

/// For texts between tags and in attributes.
std::string htmlText(const std::string& text);

} // namespace shardboard
