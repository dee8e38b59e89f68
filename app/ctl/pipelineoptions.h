// SPDX-License-Identifier: Apache-2.0
// Options of a pipeline, for designs whose preset has stages.
#pragma once

#include "app/ctl/arguments.h"
#include "model/plan/pipelinespec.h"

#include <string>
#include <vector>

namespace shardboard {

/// The options, before the last one of a list, which is --json.
std::vector<OptionSpec> withPipelineOptions(std::vector<OptionSpec> options);

/// Takes what is given. Errors: a value that cannot be; an option of a pipeline for a preset without stages.
Status choosePipeline(const Arguments& arguments, PipelineSpec& pipeline);

/// The parts of a preset and what they mean, a line for each, for the help of commands.
std::string presetPartsText();

} // namespace shardboard
