// SPDX-License-Identifier: Apache-2.0
// What the engine runs.
#pragma once

#include "model/plan/plan.h"

namespace shardboard {

struct Program {
    Graph graph;
    Plan plan;
};

} // namespace shardboard
