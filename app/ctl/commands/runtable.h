// SPDX-License-Identifier: Apache-2.0
// The result of a run as a table and in sentences: of one that has just ended, and of those that were kept.
#pragma once

#include "model/io/wire/messages.h"

#include <string>

namespace shardboard {

std::string runTable(const RunResult& result); ///< a row for every operation and collective
std::string runSummary(const RunResult& result);

} // namespace shardboard
