// SPDX-License-Identifier: Apache-2.0
// MoE: a gate that chooses experts, the experts (each an MLP), and experts that every token passes (shared).
#pragma once

#include "model/modules/module.h"

#include <optional>

namespace shardboard {

struct MoeParameters {
    std::int64_t experts = 0;
    std::int64_t moeDim = 0; ///< inner width of an expert
    std::int64_t hidden = 0; ///< 0: not known
    std::int64_t epSize = 0; ///< expert-parallel: devices over all nodes
    std::int64_t nodes = 1;
    std::int64_t node = 0; ///< which of them
    ModuleStrategy strategy; ///< tensor-parallel or expert-parallel; its devices are those of one node
};

struct MoeAnswer {
    std::string gate; ///< how each part is sharded, in MAX's words
    std::string sharedExperts;
    std::string expert;
    std::int64_t moeDimPerDevice = 0; ///< as MAX records it: rounded down
    std::optional<Shape>
        gateUpStack; ///< of one device, [experts, 2 moeDimPerDevice, hidden]; tensor-parallel, where hidden is known
    std::optional<Shape> downStack; ///< [experts, hidden, moeDimPerDevice]
    std::vector<std::int64_t> moeDims; ///< what each device's experts really have (tensor-parallel)
    std::vector<Range> expertRanges; ///< expert-parallel: of each device of the node
    std::vector<Range> unassigned; ///< experts that are on no device of any node
    std::vector<Finding> findings;
};

/// Errors: any other strategy; ranges that leave the experts.
Result<MoeAnswer> shardMoe(const MoeParameters& parameters, const std::string& where);

struct MoeGateAnswer {
    DeviceShapes weights; ///< [experts, hidden], where both are known
};
/// The gate is replicated; any other strategy is an error.
Result<MoeGateAnswer> shardMoeGate(const MoeParameters& parameters, const std::string& where);

} // namespace shardboard
