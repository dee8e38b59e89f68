// SPDX-License-Identifier: Apache-2.0
#include "model/ops/fp8recipe.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace shardboard {

namespace {

constexpr std::array kRecipes {
    Fp8RecipeFacts { Fp8Recipe::Usual, "usual", 1, false, 1 },
    Fp8RecipeFacts { Fp8Recipe::Delayed, "delayed", 1, false, 0 },
    Fp8RecipeFacts { Fp8Recipe::Tensorwise, "tensorwise", 1, false, 1 },
    Fp8RecipeFacts { Fp8Recipe::Rowwise, "rowwise", 1, true, 1 }, // a row of thousands of elements has one scale
    Fp8RecipeFacts { Fp8Recipe::Blockwise, "blockwise", 1 + 4.0 / 128, true, 0 }, // the block fits into a multiprocessor
    Fp8RecipeFacts { Fp8Recipe::Mxfp8, "mxfp8", 1 + 1.0 / 32, true, 0 },
    Fp8RecipeFacts { Fp8Recipe::Nvfp4, "nvfp4", 0.5 + 1.0 / 16, true, 1 }, // and a scale of the whole tensor
};

} // namespace

std::span<const Fp8RecipeFacts> fp8Recipes() { return kRecipes; }
const Fp8RecipeFacts& factsOf(Fp8Recipe recipe) { return kRecipes.at(static_cast<std::size_t>(recipe)); }
const char* fp8RecipeName(Fp8Recipe recipe) { return factsOf(recipe).name; }

std::optional<Fp8Recipe> fp8RecipeFromName(std::string_view name)
{
    const auto found = std::ranges::find_if(kRecipes, [&](const Fp8RecipeFacts& facts) { return name == facts.name; });
    return found == kRecipes.end() ? std::nullopt : std::optional(found->recipe);
}

} // namespace shardboard
