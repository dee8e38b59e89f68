// SPDX-License-Identifier: Apache-2.0
// Explanations as text for a terminal.
#pragma once

#include "model/design/explain/explain.h"

#include <string>

namespace shardboard {

std::string explanationText(const Design& design, const Evaluation& evaluation, const Explanation& explanation);

} // namespace shardboard
