// SPDX-License-Identifier: Apache-2.0
// model.safetensors.index.json: which file of a folder holds which tensor.
#pragma once

#include "model/core/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

struct CheckpointIndex {
    struct Entry {
        std::string tensor;
        std::size_t file = 0; ///< index into `files`
    };
    std::vector<Entry> entries;
    std::vector<std::string> files; ///< relative to the folder, never outside it
    std::optional<std::int64_t> totalSize; ///< metadata.total_size in bytes, where it is a number
};

Result<CheckpointIndex> readCheckpointIndex(const std::string& path);

} // namespace shardboard
