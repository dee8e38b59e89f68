// SPDX-License-Identifier: Apache-2.0
// How values are scaled where products are computed in 8 or 4 bits: what copies and scales it takes. A value type; part of a
// workload.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace shardboard {

/// Usual: nothing is said, and only what the products take changes. The others as in Transformer Engine 2 (common/recipe) and
/// torchao (float8): Delayed: one scale a tensor, from earlier steps. Tensorwise: one scale, from the tensor itself ("current").
/// Rowwise: one for each row. Blockwise: one for 128 elements (128 x 128 of weights), f32. Mxfp8: one e8m0 for 32 elements. Nvfp4:
/// four bits, one e4m3 for 16 elements.
enum class Fp8Recipe { Usual, Delayed, Tensorwise, Rowwise, Blockwise, Mxfp8, Nvfp4 };

struct Fp8RecipeFacts {
    Fp8Recipe recipe;
    const char* name; ///< tensorwise
    double bytes; ///< of an element, with its scales
    /// Rows and columns are scaled apart, so that forward and backward products need a copy each.
    bool twoCopies;
    /// Passes over 16-bit values before they can be cast: the largest value is looked for (none: as they are read for the cast).
    int passes;
};
std::span<const Fp8RecipeFacts> fp8Recipes();
const Fp8RecipeFacts& factsOf(Fp8Recipe recipe);
const char* fp8RecipeName(Fp8Recipe recipe);
std::optional<Fp8Recipe> fp8RecipeFromName(std::string_view name);

struct Fp8Settings {
    Fp8Recipe recipe = Fp8Recipe::Usual;
    /// Weights of the layers' products are cast before they are gathered (torchao enable_fsdp_float8_all_gather, Megatron-Core
    /// fp8_param_gather), so that half the bytes move and stay.
    bool gather = false;
    friend bool operator==(const Fp8Settings&, const Fp8Settings&) = default;
};

} // namespace shardboard
