// SPDX-License-Identifier: Apache-2.0
// One layout in the notations of the field. A notation either says a layout exactly or refuses with the reason: nothing
// is written that would be read back as another layout. Facts: JAX, Shardy, XLA, torch and MAX as their sources define
// them.
//
// Written and read again, a layout is the same in the sense of sameLayout() (model/notation/canonical.h): mesh axes of
// size 1 cut nothing, and HloSharding does not know them, MAX and DTensor not their order on a dim. Notations say which
// mesh axes cut a dim; how a dim is cut that does not divide (Layout::cutting) is the rule of each framework and not in
// its text.
#pragma once

#include "model/core/layout.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

/// Jax      P('data', ('model', 'pod'), unreduced={'x'}, unreduced_kind=max); no sub-axes
/// Shardy   [{"data"}, {"model", "pod"}], unreduced={"x"}; reads #sdy.sharding<@mesh, …> and <@mesh, …> too
/// HloV2    {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}; the numbers are device ids
/// HloV1    {devices=[4,1,2]0,4,1,5,2,6,3,7 last_tile_dim_replicate}
/// DTensor  R, S(0) with _S(0,4) for other axis orders; one placement per mesh axis
/// Max      Replicated, Sharded(0); one placement per mesh axis, axes on a dim in mesh order
enum class Notation { Jax, Shardy, HloV2, HloV1, DTensor, Max };
inline constexpr std::array kNotations { Notation::Jax,   Notation::Shardy,  Notation::HloV2,
                                         Notation::HloV1, Notation::DTensor, Notation::Max };

std::string notationName(Notation notation); ///< jax, shardy, hlo, hlo-v1, dtensor, max
std::string notationTitle(Notation notation); ///< JAX, Shardy, HloSharding V2, HloSharding V1, DTensor, MAX
std::optional<Notation> notationFromName(std::string_view name); ///< names, and torch for dtensor, hlo-v2 for hlo

/// A verified layout in a notation. Errors: what the notation cannot say, with the reason (sub-axes in JAX, DTensor and
/// MAX; partial maxima and minima in HloSharding and MAX; an axis order that is not mesh order in MAX; an edited device
/// order in HloSharding V2 that is no iota).
Result<std::string> writeLayout(Notation notation, const Layout& layout, const Mesh& mesh);

/// Reads a text in a notation, for a tensor of that rank; the layout is verified and canonical. Both HloSharding
/// notations read V1, V2 and the named V3. Errors name the place in the text: wrong grammar, an unknown mesh
/// axis, an axis used twice, more dims than the tensor has, a tile assignment that no mesh axes make, open dims (their
/// layout is only known after propagation).
Result<Layout> readLayout(Notation notation, std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where);

/// Which notation a text is in, by its words and brackets; nothing when it could be none. Placements that DTensor and
/// MAX spell alike (`R, R`) are DTensor's: both mean the same layout.
std::optional<Notation> detectNotation(std::string_view text);

/// readLayout in the notation that detectNotation finds. Errors also: it finds none.
Result<Layout> readAnyLayout(std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where);

} // namespace shardboard
