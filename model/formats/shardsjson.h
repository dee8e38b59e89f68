// SPDX-License-Identifier: Apache-2.0
// shards.json, the neutral proof of an export: which device holds which index ranges of every tensor.
#pragma once

#include "model/core/result.h"
#include "model/design/evaluate.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>

namespace shardboard {

/// Calls `visit(name, weight)` for every weight of the model by its concrete name, repeated layers one by one.
void forEachWeight(const Evaluation& evaluation, const std::function<void(const std::string&, const WeightLayout&)>& visit);

/// Distinct shards of one tensor with the device ids that hold each, in order of the first holder's position:
/// [{"devices":[0,4],"join_dim":null,"pieces":[[[lo,hi],…]]}]
nlohmann::json distinctShardsJson(const ShardMap& shards);

/// The whole document, one tensor a line. Errors: a weight whose shape is not known. `stopped` is asked at each tensor; then it is
/// cancelled.
Result<std::string> shardsJson(const Design& design, const Evaluation& evaluation, const std::function<bool()>& stopped = {});

} // namespace shardboard
