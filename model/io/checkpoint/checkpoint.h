// SPDX-License-Identifier: Apache-2.0
// What a checkpoint holds: the names of its tensors, and shapes where the files are there to tell.
#pragma once

#include "model/core/finding.h"
#include "model/core/result.h"
#include "model/core/tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

struct CheckpointTensor {
    std::string name;
    bool shapeKnown = false; ///< from a header
    DType dtype = DType::BF16;
    Shape shape;
};

struct Checkpoint {
    std::string place; ///< folder or file, for messages
    std::vector<CheckpointTensor> tensors; ///< layer 2 before layer 10
    std::vector<std::string> files; ///< names of the weight files, there or not
    std::optional<std::int64_t> totalSize; ///< what an index claims, in bytes
    std::vector<Finding> findings;
};

/// A folder with an index, or with .safetensors files alone. No tensors when it holds neither. Errors: a broken index
/// or header; a pointer or a missing file is a finding.
Result<Checkpoint> readCheckpointFolder(const std::string& folder);
/// One .safetensors file.
Result<Checkpoint> readCheckpointFile(const std::string& path);

} // namespace shardboard
