// SPDX-License-Identifier: Apache-2.0
// Operations that only say where a value may be cut.
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

const std::array kViewOps {
    // What goes on to the layers or out of the model: never partial.
    OpDefinition { .kind = OpKind::Output,
                   .name = "output",
                   .rule = "x [...] -> [...]",
                   .group = OpGroup::Small,
                   .passes = true,
                   .view = true,
                   .taken = 0,
                   .between = true },
    // Every device holds the last dim whole, and nothing partial.
    OpDefinition { .kind = OpKind::GatherLast,
                   .name = "gather_last",
                   .rule = "x [... n!] -> [... n!]",
                   .group = OpGroup::Small,
                   .passes = true,
                   .view = true,
                   .taken = 0 },
};

} // namespace

std::span<const OpDefinition> viewDefinitions() { return kViewOps; }

} // namespace shardboard
