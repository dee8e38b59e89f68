// SPDX-License-Identifier: Apache-2.0
#include "model/core/tensor.h"

#include "model/core/checked.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace shardboard {

namespace {

struct TypeRow {
    DType type;
    int bits;
    const char* name; ///< ours
    const char* safetensors;
    const char* torch;
};

constexpr std::array kTypes {
    TypeRow { DType::Bool, 8, "bool", "BOOL", "bool" },
    TypeRow { DType::F4, 4, "f4", "F4", "float4_e2m1fn_x2" },
    TypeRow { DType::F6E2M3, 6, "f6e2m3", "F6_E2M3", "" },
    TypeRow { DType::F6E3M2, 6, "f6e3m2", "F6_E3M2", "" },
    TypeRow { DType::U8, 8, "u8", "U8", "uint8" },
    TypeRow { DType::I8, 8, "i8", "I8", "int8" },
    TypeRow { DType::F8E5M2, 8, "f8e5m2", "F8_E5M2", "float8_e5m2" },
    TypeRow { DType::F8E4M3, 8, "f8e4m3", "F8_E4M3", "float8_e4m3fn" },
    TypeRow { DType::F8E8M0, 8, "f8e8m0", "F8_E8M0", "float8_e8m0fnu" },
    TypeRow { DType::F8E4M3Fnuz, 8, "f8e4m3fnuz", "F8_E4M3FNUZ", "float8_e4m3fnuz" },
    TypeRow { DType::F8E5M2Fnuz, 8, "f8e5m2fnuz", "F8_E5M2FNUZ", "float8_e5m2fnuz" },
    TypeRow { DType::I16, 16, "i16", "I16", "int16" },
    TypeRow { DType::U16, 16, "u16", "U16", "uint16" },
    TypeRow { DType::F16, 16, "f16", "F16", "float16" },
    TypeRow { DType::BF16, 16, "bf16", "BF16", "bfloat16" },
    TypeRow { DType::I32, 32, "i32", "I32", "int32" },
    TypeRow { DType::U32, 32, "u32", "U32", "uint32" },
    TypeRow { DType::F32, 32, "f32", "F32", "float32" },
    TypeRow { DType::C64, 64, "c64", "C64", "complex64" },
    TypeRow { DType::F64, 64, "f64", "F64", "float64" },
    TypeRow { DType::I64, 64, "i64", "I64", "int64" },
    TypeRow { DType::U64, 64, "u64", "U64", "uint64" },
};

const TypeRow& row(DType type)
{
    for (const TypeRow& candidate : kTypes)
        if (candidate.type == type)
            return candidate;
    return kTypes.front();
}

} // namespace

int bitsOf(DType type) { return row(type).bits; }
std::string dtypeName(DType type) { return row(type).name; }

std::optional<DType> dtypeFromName(std::string_view name)
{
    std::string lower = lowered(name);
    if (lower.starts_with("torch."))
        lower.erase(0, 6);
    if (lower == "fp8" || lower == "float8") // of the two formats the one of weights and activations
        return DType::F8E4M3;
    if (lower == "half")
        return DType::F16;
    if (lower == "float")
        return DType::F32;
    for (const TypeRow& candidate : kTypes)
        if (lower == candidate.name || (*candidate.torch && lower == candidate.torch))
            return candidate.type;
    return std::nullopt;
}

std::optional<DType> dtypeFromSafetensors(std::string_view name)
{
    for (const TypeRow& candidate : kTypes)
        if (name == candidate.safetensors)
            return candidate.type;
    return std::nullopt;
}

std::optional<std::int64_t> elementCount(const Shape& shape) { return checkedProduct(shape); }

std::int64_t bytesOf(std::int64_t elements, DType type)
{
    const auto bits = checkedMultiply(elements, bitsOf(type));
    return bits ? *bits / 8 + (*bits % 8 != 0) : std::numeric_limits<std::int64_t>::max();
}

std::int64_t storedBytes(const TensorSpec& tensor, const Shape& part)
{
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const auto elements = elementCount(part);
    if (!elements)
        return kMost;
    const WeightPacking& packing = tensor.packing;
    if (!packing.present() || part.empty())
        return bytesOf(*elements, tensor.dtype);
    double blocks = 1;
    for (std::size_t i = 0; i < part.size(); ++i) {
        const std::int64_t whole = i + 1 == part.size() ? packing.inBlock : i + 2 == part.size() ? packing.outBlock : 1;
        const std::int64_t block = whole > 0 ? whole : std::max<std::int64_t>(1, part[i]);
        blocks *= static_cast<double>(part[i] / block + (part[i] % block != 0));
    }
    const double bytes = std::ceil((static_cast<double>(*elements) * packing.bits + blocks * packing.blockBits) / 8);
    return bytes < 9e18 ? static_cast<std::int64_t>(bytes) : kMost;
}

std::int64_t bytesOf(const TensorSpec& tensor) { return storedBytes(tensor, tensor.shape); }

DType movedType(const WeightPacking& packing, DType plain)
{
    if (!packing.present())
        return plain;
    const double block =
        static_cast<double>(std::max<std::int64_t>(1, packing.outBlock) * std::max<std::int64_t>(1, packing.inBlock));
    const double bits = packing.bits > 0 ? packing.bits : packing.blockBits / block;
    return bits <= 5 ? DType::F4 : bits <= 7 ? DType::F6E2M3 : bits <= 10 ? DType::F8E4M3 : plain;
}

double movedShare(const TensorSpec& tensor, DType plain)
{
    const std::int64_t elements = elementCount(tensor.shape).value_or(0);
    if (!tensor.packing.present() || elements < 1)
        return 1;
    return 8.0 * static_cast<double>(bytesOf(tensor)) / static_cast<double>(elements) / bitsOf(movedType(tensor.packing, plain));
}

std::string shapeText(const Shape& shape)
{
    std::string out;
    for (const std::int64_t size : shape)
        out += (out.empty() ? "" : " x ") + std::to_string(size);
    return out.empty() ? "scalar" : out;
}

Result<Shape> parseShape(std::string_view text, const std::string& where)
{
    const std::string form = "write it like 6144,4096";
    if (trimmed(text).empty())
        return inputError(where, "the shape is empty", form);
    Shape shape;
    for (const std::string_view part : split(text, ',')) {
        const auto size = parseInteger(part);
        if (!size || *size < 0)
            return inputError(where, "'" + std::string(part) + "' is not a size of a tensor dim", form);
        if (shape.size() == 16)
            return inputError(where, "the shape has more than 16 dims", form);
        shape.push_back(*size);
    }
    const auto elements = elementCount(shape);
    if (!elements || !checkedMultiply(*elements, 64))
        return inputError(where, "a tensor of " + shapeText(shape) + " has too many elements to count", "use smaller sizes");
    return shape;
}

} // namespace shardboard
