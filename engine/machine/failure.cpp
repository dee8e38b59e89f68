// SPDX-License-Identifier: Apache-2.0
#include "engine/machine/failure.h"

namespace shardboard::engine {

void failPlan(const std::string& message, const std::string& where) { throw Failure { "bad-plan", message, where }; }

} // namespace shardboard::engine
