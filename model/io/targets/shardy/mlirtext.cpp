// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/shardy/mlirtext.h"

#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace shardboard {

namespace {

const char* elementType(DType type)
{
    switch (type) {
    case DType::Bool:
        return "i1";
    case DType::F4:
        return "f4E2M1FN";
    case DType::F6E2M3:
        return "f6E2M3FN";
    case DType::F6E3M2:
        return "f6E3M2FN";
    case DType::U8:
        return "ui8";
    case DType::I8:
        return "i8";
    case DType::F8E5M2:
        return "f8E5M2";
    case DType::F8E4M3:
        return "f8E4M3FN";
    case DType::F8E8M0:
        return "f8E8M0FNU";
    case DType::F8E4M3Fnuz:
        return "f8E4M3FNUZ";
    case DType::F8E5M2Fnuz:
        return "f8E5M2FNUZ";
    case DType::I16:
        return "i16";
    case DType::U16:
        return "ui16";
    case DType::F16:
        return "f16";
    case DType::BF16:
        return "bf16";
    case DType::I32:
        return "i32";
    case DType::U32:
        return "ui32";
    case DType::F32:
        return "f32";
    case DType::C64:
        return "complex<f32>";
    case DType::F64:
        return "f64";
    case DType::I64:
        return "i64";
    case DType::U64:
        return "ui64";
    }
    return "i8";
}

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-'; }

} // namespace

std::string mlirLiteral(std::string_view text)
{
    std::string out = "\"";
    for (const char c : text) {
        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
            out += c;
            continue;
        }
        std::array<char, 8> escaped {};
        std::snprintf(escaped.data(), escaped.size(), "\\%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
        out += escaped.data();
    }
    return out + '"';
}

std::string tensorType(const TensorSpec& spec)
{
    std::string out = "tensor<";
    for (const std::int64_t size : spec.shape)
        out += std::to_string(size) + "x";
    return out + elementType(spec.dtype) + ">";
}

std::string valueName(const std::string& name, std::size_t number)
{
    const bool plain = !name.empty() && isLetter(name.front())
        && std::ranges::all_of(name, [](char c) { return isLetter(c) || (c >= '0' && c <= '9'); });
    return "%" + (plain ? name : std::to_string(number));
}

std::string meshAttribute(const Mesh& mesh)
{
    std::vector<std::string> axes;
    for (const MeshAxis& axis : mesh.axes())
        axes.push_back(mlirLiteral(axis.name) + "=" + std::to_string(axis.size));
    std::vector<std::string> ids;
    for (const std::int64_t id : mesh.deviceIds())
        ids.push_back(std::to_string(id));
    return "<[" + joined(axes) + "]" + (ids.empty() ? "" : ", device_ids=[" + joined(ids) + "]") + ">";
}

} // namespace shardboard
