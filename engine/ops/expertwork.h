// SPDX-License-Identifier: Apache-2.0
// What the executors of mixtures of experts and of their gradients share.
#pragma once

#include "engine/ops/execute.h"

#include <functional>
#include <vector>

namespace shardboard::engine {

/// The token dims of a tensor [batch, sequence, ...] and of one [experts, batch, sequence, ...].
void requireSameTokens(const Box& tokens, const Box& ofExperts, const OpCall& call);
/// The same of tokens [batch, sequence, n] and gates [batch, sequence, experts], and that they have its experts; with `columns`
/// that the tokens have its columns, too.
void requireSameExperts(const OpCall& call, const Box& tokens, const Box& gates, const Box& ofExperts, bool columns);
std::int64_t tokensOf(const Box& ofExperts);
/// Tokens of an expert that are multiplied at once.
inline constexpr std::int64_t kRowsAtOnce = 256;

/// The rows of one expert on one device.
struct ExpertTask {
    std::int64_t device = 0;
    std::int64_t expert = 0; ///< local
    std::int64_t first = 0; ///< columns of the result
    std::int64_t last = 0;
};

/// One task for every expert of every device.
std::vector<ExpertTask> expertTasks(const Sharded& ofExperts);

Timing runExperts(Context& context, const Sharded& result, const std::vector<ExpertTask>& tasks,
                  const std::function<double(const ExpertTask&, int)>& run);

/// From the first operand, rows of tokens, by the gates, the second one, to a result of all experts.
Timing spreadToExperts(Context& context, const OpCall& call, Sharded& result);

} // namespace shardboard::engine
