// SPDX-License-Identifier: Apache-2.0
// Programs that put one operation, or one change of layout, under one choice of layouts.
#pragma once

#include "engine/conformance/opcase.h"
#include "engine/conformance/rowchoice.h"
#include "model/plan/program.h"

#include <map>
#include <optional>
#include <random>

namespace shardboard::conformance {

/// The case's last operation under these layouts, all before it unsharded. Operands come in another layout half of the time,
/// and collectives bring them where they are wanted. Nothing where no collectives lead there.
std::optional<Program> programOf(const OpCase& of, const Mesh& mesh, const RowChoice& choice, DType dtype, std::mt19937& random);

/// A product whose result lies in `from`, with addends that differ where it is partial, and what brings it to `to`, in which
/// it is doubled. Nothing where no collectives lead there.
std::optional<Program> reshardProgram(const Shape& shape, const Mesh& mesh, const Layout& from, const Layout& to, DType dtype,
                                      std::mt19937& random);

/// Each mesh axis on a random dim, or nowhere, or (where `mayBePartial`) partial.
Layout randomLayout(std::mt19937& random, const Mesh& mesh, std::size_t rank, bool mayBePartial);

} // namespace shardboard::conformance
