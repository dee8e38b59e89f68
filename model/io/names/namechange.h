// SPDX-License-Identifier: Apache-2.0
// What happens to weights on their way into a framework's parameter, in a few words for people.
#pragma once

#include "model/io/names/parameternames.h"

#include <string>

namespace shardboard {

struct NameChange {
    bool transposed = false; ///< dims, or parts of them, stand in another order
    bool split = false; ///< a dim of the weight is several of the parameter, or the other way round
    bool fused = false; ///< made of several weights
    bool stacked = false; ///< over layers
    bool reordered = false; ///< the elements of a dim stand in another order
    bool part = false; ///< holds one index of the weight: one expert, one half
    friend bool operator==(const NameChange&, const NameChange&) = default;
};

NameChange nameChange(const NamedParameter& parameter);
/// `transposed, fused of 3`, and in which order elements are, where that is another; empty where the weight is there as it is.
std::string nameChangeText(const NamedParameter& parameter);

} // namespace shardboard
