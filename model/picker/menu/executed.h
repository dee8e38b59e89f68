// SPDX-License-Identifier: Apache-2.0
// The collectives that MAX runs to bring a tensor from its placements to others, which are not those that it prices
// (max-sharding 4.4).
#pragma once

#include "model/core/mesh.h"
#include "model/core/placement.h"
#include "model/ops/rows/pickerprofile.h"
#include "model/picker/menu/refusal.h"

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace shardboard {

struct ExecutedStep {
    const char* op = ""; ///< upstream's name: allreduce, reduce_scatter, allgather, local_slice, keep_one_copy
    std::vector<int> meshAxes;
    std::optional<int> dim; ///< tensor dim
};

/// One placement per mesh axis on either side. G0 to G2 go mesh axis by mesh axis; G3 fuses them.
std::variant<std::vector<ExecutedStep>, Refusal> executedSteps(PickerProfile profile, std::span<const Placement> from,
                                                               std::span<const Placement> to, const Mesh& mesh);

} // namespace shardboard
