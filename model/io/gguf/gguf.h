// SPDX-License-Identifier: Apache-2.0
// Reads the header of a .gguf file: what it says of its model, names, types and shapes of its tensors. The weights behind it are
// never read. Source of the format and of the types' blocks: ggml's docs/gguf.md and ggml-common.h.
#pragma once

#include "model/core/result.h"
#include "model/core/tensor.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shardboard {

/// How ggml stores elements: blocks of so many along a row, each of so many bytes.
struct GgmlType {
    std::uint32_t number = 0;
    const char* name = ""; ///< q4_k
    std::int64_t block = 1; ///< elements
    std::int64_t bytes = 0; ///< of a block
    std::optional<DType> plain {}; ///< where it is no block format

    /// Of a weight [out, in]; none for a plain type.
    WeightPacking packing() const;
};
/// Null where the number is not known.
const GgmlType* ggmlType(std::uint32_t number);

struct GgufTensor {
    std::string name;
    Shape shape; ///< as everywhere here, the dim that lies side by side last: [out, in]
    const GgmlType* type = nullptr;
    std::int64_t begin = 0; ///< in bytes, from the start of the data area
    std::int64_t bytes = 0;
};

/// What a file says of its model: numbers, truth values and texts; of lists of numbers the first items, of others how many.
struct GgufList {
    std::int64_t size = 0;
    std::vector<double> numbers {}; ///< the first kMostListed
};
using GgufValue = std::variant<std::int64_t, double, bool, std::string, GgufList>;
inline constexpr std::size_t kMostListed = 4096;

struct GgufFile {
    std::uint32_t version = 0;
    std::map<std::string, GgufValue> values;
    std::vector<GgufTensor> tensors;

    std::optional<std::int64_t> integer(const std::string& key) const; ///< of a list its first item
    std::optional<double> number(const std::string& key) const;
    std::string text(const std::string& key) const; ///< empty where there is none
};

/// Everything is checked against the size of the file: counts, lengths, types, shapes that blocks divide, offsets, the end. Memory
/// is bounded; errors name the key or the tensor.
Result<GgufFile> readGguf(const std::string& path);

} // namespace shardboard
