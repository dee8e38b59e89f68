// SPDX-License-Identifier: Apache-2.0
// Whole models and training steps: presets over tiny models whose sizes divide by little.
#pragma once

#include "model/ops/graph.h"
#include "model/plan/plan.h"

#include <string>
#include <vector>

namespace shardboard::conformance {

struct ModelCase {
    std::string name;
    std::string mesh;
    std::string preset;
    std::string family; ///< of the model
    WorkloadKind workload = WorkloadKind::Prefill;
    std::int64_t batch = 4;
    std::int64_t sequence = 6;
    std::int64_t microBatches = 1;
};

/// With `devices` above 0 such as have that many.
std::vector<ModelCase> modelCases(std::int64_t devices);

} // namespace shardboard::conformance
