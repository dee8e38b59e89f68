// SPDX-License-Identifier: Apache-2.0
// MLIR in generated files. What comes from a design stands there as a string literal, or as a name that needs no quotes.
#pragma once

#include "model/core/mesh.h"
#include "model/core/tensor.h"

#include <string>
#include <string_view>

namespace shardboard {

/// The text in double quotes: printable ASCII stays, each other byte is `\0A`, so that no text ends the literal or its line.
std::string mlirLiteral(std::string_view text);
/// `tensor<16x8xbf16>`
std::string tensorType(const TensorSpec& spec);
/// `%model.layers.0.mlp.up_proj.weight`, or `%12` with the number where the name would need quotes.
std::string valueName(const std::string& name, std::size_t number);
/// `<["data"=2, "model"=4], device_ids=[…]>`; the ids only where they are not in order.
std::string meshAttribute(const Mesh& mesh);

} // namespace shardboard
