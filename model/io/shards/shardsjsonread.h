// SPDX-License-Identifier: Apache-2.0
// shards.json read back, for comparing: ours or one that another framework's checker made.
#pragma once

#include "model/core/mesh.h"
#include "model/core/tensor.h"
#include "model/design/placedshards.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

struct ShardsOfTensor {
    std::string name;
    Shape shape;
    std::optional<DType> dtype;
    /// Equal texts mean that equal devices hold equal ranges in equal order. Tensors that have equal ones share one.
    std::shared_ptr<const std::string> canonical;
    std::int64_t elementsPerDevice = 0; ///< on the device that holds the most
};

struct ShardsProof {
    Mesh mesh;
    std::vector<ShardsOfTensor> tensors;
};

/// Errors give FILE:KEY: not JSON, a wrong mesh, a device that the mesh lacks or that has no or two shards of a tensor (of a
/// pipeline a tensor is on whole stages, one or more), a range outside the shape.
Result<ShardsProof> readShardsJson(const std::string& path);
Result<ShardsProof> shardsProofFromText(const std::string& text, const std::string& where);

/// The same canonical text, of shards that we computed.
std::string canonicalShards(const PlacedShards& placed);

} // namespace shardboard
