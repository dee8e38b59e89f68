// SPDX-License-Identifier: Apache-2.0
// Layouts short enough for a label or a status line.
#pragma once

#include "model/core/layout.h"
#include "model/core/tensor.h"

#include <string>

namespace shardboard {

/// The scaling book's form, with the names of the mesh: `A[I_X, J_Y]{U_Z}` is dim I over X, dim J over Y, partial over
/// Z. Names of several letters stand in parentheses where there are several: `A[I_(data,model), J]`; a maximum is
/// `{U_max:Z}`.
std::string compactText(const Layout& layout, const Mesh& mesh, const std::string& name = "A");
/// The form in which JAX prints types: `f32[8@X,4]{U:Y}`, several axes `16@(model,data)`.
std::string typeText(const Shape& shape, DType dtype, const Layout& layout, const Mesh& mesh);

} // namespace shardboard
