// SPDX-License-Identifier: Apache-2.0
// Pins: where an activation must lie, or which row an operation must take, whatever is cheapest. Presets set some; people
// add their own where they want another of the picker's candidates.
#pragma once

#include "model/core/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

struct Pin {
    /// Dims with this label (batch, sequence, heads, …) lie over these mesh axes.
    struct Dim {
        std::string label;
        std::vector<std::string> axes;
        friend bool operator==(const Dim&, const Dim&) = default;
    };

    /// Glob: names of activations, or with `row` of operations; with a `/` in it `block/NAME`, so that layers of one kind alone
    /// are meant. A pin of X is one of `grad of X` too.
    std::string match;
    std::vector<Dim> dims;
    std::vector<std::string> whole; ///< mesh axes over which every device has all of it
    std::string axis; ///< with `row`: the mesh axis
    std::string row; ///< `S1 R R -> S1`: placements of the operands and the result over that mesh axis
    std::string source; ///< who set it, for people: `preset fsdp`; empty for one set by hand
    friend bool operator==(const Pin&, const Pin&) = default;
};

/// `*:batch=data,fsdp`, `residual:sequence=model;whole=data`, `block/self_attn.attention@context=S1 R R -> S1`
std::string pinText(const Pin& pin);
/// Reads what pinText() writes. Errors say which part is wrong; whether mesh axes, labels and operations exist is not looked at.
Result<Pin> parsePin(std::string_view text, const std::string& where = "--pin");

} // namespace shardboard
