// SPDX-License-Identifier: Apache-2.0
// The router of a mixture of experts: from logits to dense gates with zeros but for the k chosen experts, and back.
#pragma once

#include <cstdint>

namespace shardboard::engine {

struct GateRule {
    bool sigmoid = false; ///< scores are sigmoids, to which a bias is added for the choice alone (DeepSeek-V3); else a softmax
    std::int64_t experts = 0;
    std::int64_t k = 0;
    bool renormalise = false; ///< the k gates add up to `scale`: with the softmax that of the k highest logits (gpt-oss)
    double scale = 1; ///< of the gates
    std::int64_t groups = 1; ///< experts are chosen from `groupsKept` of so many equal groups
    std::int64_t groupsKept = 1; ///< those with the highest member; with sigmoids the highest sum of two members
};

/// gates [rows, experts] from logits [rows, experts]; `bias` (may be null) is the correction bias. Ties go to the lower
/// expert or group.
void topKGates(const GateRule& rule, const float* logits, const float* bias, std::int64_t rows, float* gates);
/// dLogits from dGates [rows, experts], of which only the chosen experts' are read: which experts are chosen has no slope.
void topKGatesBackward(const GateRule& rule, const float* logits, const float* bias, const float* dGates, std::int64_t rows,
                       float* dLogits);

} // namespace shardboard::engine
