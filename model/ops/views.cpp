// SPDX-License-Identifier: Apache-2.0
// Operations that only say where a value may be cut.
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

const std::array kViewOps {
    OpDefinition { .kind = OpKind::Output, .name = "output", .rule = "... -> ...", .passes = true, .view = true },
    OpDefinition { .kind = OpKind::GatherLast, .name = "gather_last", .rule = "... n! -> ... n!", .passes = true, .view = true },
};

} // namespace

std::span<const OpDefinition> viewDefinitions() { return kViewOps; }

} // namespace shardboard
