// SPDX-License-Identifier: Apache-2.0
// Problems of layout assignment from files: the JSON format of the IOPDDL contest, plain or compressed by gzip.
#pragma once

#include "model/core/result.h"
#include "model/solver/problem.h"

#include <string>
#include <string_view>

namespace shardboard {

/// Everything is checked: what is read can be solved. Errors name FILE:LINE:COLUMN of the text, or the node or edge.
Result<solver::Problem> readProblem(const std::string& path);
Result<solver::Problem> parseProblem(std::string_view text, const std::string& where);

} // namespace shardboard
