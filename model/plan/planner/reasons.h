// SPDX-License-Identifier: Apache-2.0
// Why a collective is in the plan.
#pragma once

#include "model/picker/greedy.h"
#include "model/plan/plan.h"

#include <string>
#include <vector>

namespace shardboard {

/// The operation that wrote the tensor and the layouts in which it took its operands (op -1 for weights and inputs).
struct Producer {
    OpId op {};
    std::vector<OperandUse> operands;
};

/// From where to where the collective's operand goes, by this collective and perhaps others.
struct Route {
    const Layout& before;
    const Layout& after;
};

/// `o_proj [dim 1 = model], partial sums`: for a column of a table.
std::string collectiveCause(const Graph& graph, const Mesh& mesh, const Collective& collective, const Producer& producer);

/// A whole sentence. `pinned`: what a pin says that decided how the operation runs over that mesh axis, empty where price did.
std::string collectiveReason(const Graph& graph, const Mesh& mesh, const Collective& collective, const Producer& producer,
                             const Route& route, const std::string& pinned = {});

/// Why a row that is not possible cannot be taken: `8 KV heads do not divide by 16`.
std::string refusalText(const Graph& graph, const Mesh& mesh, OpId op, const JudgedRow& row);

} // namespace shardboard
