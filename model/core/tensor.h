// SPDX-License-Identifier: Apache-2.0
// What a tensor is, without any layout: name, shape, element type, the meaning of its dims. A value type.
#pragma once

#include "model/core/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

using Shape = std::vector<std::int64_t>;

/// Element types, with the safetensors spelling of each (F4 … C64). Sizes are in bits, because some are below a byte.
enum class DType {
    Bool,
    F4,
    F6E2M3,
    F6E3M2,
    U8,
    I8,
    F8E5M2,
    F8E4M3,
    F8E8M0,
    F8E4M3Fnuz,
    F8E5M2Fnuz,
    I16,
    U16,
    F16,
    BF16,
    I32,
    U32,
    F32,
    C64,
    F64,
    I64,
    U64
};

int bitsOf(DType type);
/// Our spelling, as in `--dtype bf16`: bf16, f32, f16, i32, i8, f8e4m3, …
std::string dtypeName(DType type);
/// Accepts our spelling, torch's (`bfloat16`, `float32`) and numpy/JAX's, and `fp8` for f8e4m3; nothing when unknown.
std::optional<DType> dtypeFromName(std::string_view name);
/// Accepts the spelling of a safetensors header (`BF16`, `F8_E4M3`).
std::optional<DType> dtypeFromSafetensors(std::string_view name);

/// What part a tensor plays in the graph.
enum class TensorRole { Weight, Input, Activation, KvCache };

/// How a weight is stored whose elements are no plain numbers: several in a byte, and for each block of them a scale, and sometimes
/// a zero point. Blocks lie on the last two dims, [out, in] of a matrix.
struct WeightPacking {
    double bits = 0; ///< of an element, without what is stored for its block
    std::int64_t outBlock = 1; ///< elements of a block along the dim before the last; 0: all of it
    std::int64_t inBlock = 0; ///< along the last dim; 0: all of it
    double blockBits = 0; ///< for each block; of formats without a part of its own for elements (GGUF) all of its bits

    bool present() const { return bits > 0 || blockBits > 0; }
    friend bool operator==(const WeightPacking&, const WeightPacking&) = default;
};

struct TensorSpec {
    std::string name; ///< for weights of repeated layers with `*` in place of the layer number
    Shape shape; ///< global sizes; weights of linear layers are [out, in] as in Hugging Face files
    DType dtype = DType::BF16;
    TensorRole role = TensorRole::Weight;
    std::vector<std::string> dimLabels; ///< meaning of each dim, e.g. {"out", "in"} or {"batch", "sequence", "hidden"}
    /// Logical name of each dim, as logical axis rules use them (MaxText's: embed, mlp, q_heads); empty: no dim is named.
    std::vector<std::string> logicalNames {};
    /// Elements of each dim that belong together (a head, a quantisation block); empty: 1 each.
    std::vector<std::int64_t> grains {};
    WeightPacking packing {}; ///< of a weight that is stored packed; `dtype` is then what it is computed in

    friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

/// Number of elements, or nothing when it does not fit in 63 bits.
std::optional<std::int64_t> elementCount(const Shape& shape);
/// Bytes of `elements` elements, rounded up to whole bytes; saturates at the largest 63-bit number.
std::int64_t bytesOf(std::int64_t elements, DType type);
/// Bytes of a part of this shape as stored, packed or not; a block counts where the part has any of it. Saturates.
std::int64_t storedBytes(const TensorSpec& tensor, const Shape& part);
/// Bytes of the whole tensor (global size) as stored; saturates.
std::int64_t bytesOf(const TensorSpec& tensor);
/// The type whose elements have about as many bits as the packed ones: what is counted where packed elements move.
DType movedType(const WeightPacking& packing, DType plain);
/// Bytes that move of a weight, with what is stored for its blocks, in those that its elements have as movedType: 4.5 / 4 for 4
/// bits in blocks of 32 with a scale of 16 bits. 1 where it is not packed.
double movedShare(const TensorSpec& tensor, DType plain);

/// `4096 x 14336`
std::string shapeText(const Shape& shape);
/// Parses `6144,4096` (sizes of at least 0, rank at most 16).
Result<Shape> parseShape(std::string_view text, const std::string& where = "--shape");

} // namespace shardboard
