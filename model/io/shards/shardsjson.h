// SPDX-License-Identifier: Apache-2.0
// shards.json, the neutral proof of an export: which device holds which index ranges of every tensor.
#pragma once

#include "model/core/result.h"
#include "model/design/placedshards.h"
#include "model/io/file/textsink.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace shardboard {

/// The most that is written, which lists 16,384 devices for each of 1,800 weights; reading back takes four times as much memory.
inline constexpr std::int64_t kMostShardsBytes = std::int64_t { 256 } << 20;

/// Calls `visit(name, weight, layer)` for every weight of the model by its concrete name, repeated layers one by one; outside of
/// layers `layer` is -1.
void forEachWeight(const Evaluation& evaluation,
                   const std::function<void(const std::string& name, const WeightLayout& weight, std::int64_t layer)>& visit);

/// Bytes of shards.json, counted without making it: exact in the device ids, which are most of it.
std::int64_t shardsJsonBytes(const Mesh& mesh, const Evaluation& evaluation);

/// The whole document, one tensor a line, made as it is read. Of a tensor that is partial `"partial":{"axes":[…],"op":"sum"}` says
/// along which mesh axes each of the devices of a shard has a term of it. Of a pipeline each tensor is on the devices of its stages
/// alone, and
/// `"pipeline":{"axis":…}` says why the others have none. Errors: a weight whose shape is not known.
Result<TextSource> shardsJson(const Mesh& mesh, std::shared_ptr<const Evaluation> evaluation);

} // namespace shardboard
