// SPDX-License-Identifier: Apache-2.0
// shards.json read back, for comparing: ours or one that another framework's checker made.
#pragma once

#include "model/core/mesh.h"
#include "model/core/shards.h"
#include "model/core/tensor.h"

#include <optional>
#include <string>
#include <vector>

namespace shardboard {

struct ShardsOfTensor {
    std::string name;
    Shape shape;
    std::optional<DType> dtype;
    std::string canonical; ///< equal texts mean that equal devices hold equal ranges in equal order
    std::int64_t elementsPerDevice = 0; ///< on the device that holds the most
};

struct ShardsProof {
    Mesh mesh;
    std::vector<ShardsOfTensor> tensors;
};

/// Errors give FILE:KEY: not JSON, a wrong mesh, a device that the mesh lacks or that has no or two shards of a tensor, a
/// range outside the shape.
Result<ShardsProof> readShardsJson(const std::string& path);
Result<ShardsProof> shardsProofFromText(const std::string& text, const std::string& where);

/// The same canonical text, of shards that we computed.
std::string canonicalShards(const ShardMap& shards);

} // namespace shardboard
