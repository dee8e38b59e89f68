// SPDX-License-Identifier: Apache-2.0
// The functions that a block applies between the products of its MLP.
#pragma once

#include "model/ops/graph.h"

#include <string>
#include <string_view>

namespace shardboard {

struct Activation {
    const char* name; ///< in designs
    OpKind kind;
    const char* configNames; ///< what `hidden_act` of Hugging Face's configs calls it, each between spaces
};

/// Null when it is not known.
const Activation* findActivation(std::string_view name);
/// By the name that a config has for it.
const Activation* findConfigActivation(std::string_view name);
/// `use silu, gelu or gelu_tanh`
std::string knownActivations();

} // namespace shardboard
