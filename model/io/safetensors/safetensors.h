// SPDX-License-Identifier: Apache-2.0
// Reads the header of a .safetensors file: names, element types, shapes. The weights behind it are never read.
#pragma once

#include "model/core/result.h"
#include "model/core/tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

struct StoredTensor {
    std::string name;
    DType dtype = DType::F32;
    Shape shape;
    std::int64_t begin = 0; ///< in bytes, from the start of the data area
    std::int64_t end = 0;
};

/// The tensors in the order of the header. Everything the format demands is checked: sizes, no holes, no overlap, names
/// once, the end of the file. Memory is bounded; errors name the tensor.
Result<std::vector<StoredTensor>> readSafetensorsHeader(const std::string& path);

/// A Git LFS pointer, the small text that lies in place of a large file in a folder cloned without Git LFS.
struct LfsPointer {
    std::int64_t bytes = 0; ///< size of the file it stands for
};
std::optional<LfsPointer> lfsPointerFromText(std::string_view text);
/// Nothing too when the file cannot be read.
std::optional<LfsPointer> lfsPointerAt(const std::string& path);
/// `a Git LFS pointer in place of 4998663696 bytes`, and what to do about it.
Error lfsPointerError(const std::string& path, const LfsPointer& pointer);

} // namespace shardboard
