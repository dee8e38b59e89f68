// SPDX-License-Identifier: Apache-2.0
// Why a collective is in the plan, in one sentence.
#pragma once

#include "model/plan/plan.h"

#include <string>

namespace shardboard {

/// `producer` is the operation that wrote the tensor (-1 for weights and inputs); `layouts` those at this point of the plan.
std::string collectiveReason(const Graph& graph, const Mesh& mesh, const Collective& collective, OpId producer,
                             const std::vector<Layout>& layouts);

} // namespace shardboard
