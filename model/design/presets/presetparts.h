// SPDX-License-Identifier: Apache-2.0
// Presets as facts: what is cut over which kinds of mesh axes. A preset has a name of its own, or is a combination of parts, joined
// by `+` in any order: `pp+tp-sp+fsdp`.
#pragma once

#include "model/core/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// How a context-parallel attention gets at the keys and values of the other devices.
enum class ContextForm { None, Ring, AllGather, Ulysses };

/// What a preset wants of a mesh. `Needs` refuses a mesh without such an axis, `Uses` takes it where it is there.
enum class Wish { No, Uses, Needs };

struct PresetFacts {
    std::string name;
    std::string what; ///< in a sentence, for lists
    Wish tensor = Wish::No; ///< heads, MLP width and vocabulary are cut
    bool sequence = false; ///< between the tensor-parallel parts the sequence is cut over the tensor axes
    Wish fsdp = Wish::No; ///< weights are cut further, and gathered where they are used
    bool shardsContext = false; ///< they are cut over the context axes, too
    bool shardsExperts = false; ///< experts are cut further, too, and the other weights over the expert axes
    bool replicas = false; ///< needs a data axis beside the fsdp axes
    Wish data = Wish::No; ///< the batch is cut over data axes; without `Needs` too where they are there
    Wish experts = Wish::No;
    bool spreadsExperts = false; ///< over the tensor axes as well: each device has whole experts for its part of the sequence
    Wish context = Wish::No;
    ContextForm form = ContextForm::None;
    std::int64_t chunks = 0; ///< runs of layers on each stage of a pipeline; 0: no pipeline
    bool combined = false; ///< from parts
};

/// All presets with a name of their own that are made from the graph, in the order in which they are shown.
const std::vector<PresetFacts>& presetFacts();

/// What a combination can be made of, in the order of its name. Of the parts with one `group` it has at most one.
struct PresetPart {
    const char* name;
    const char* group; ///< what it is a form of, in a sentence: `pipeline`
    const char* what;
};
const std::vector<PresetPart>& presetParts();

/// Of a preset with a name of its own, or of a combination; its name then has the parts in their order. Errors name the part that
/// is unknown or contradicts another one.
Result<PresetFacts> presetFactsOf(std::string_view name);

} // namespace shardboard
