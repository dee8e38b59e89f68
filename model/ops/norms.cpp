// SPDX-License-Identifier: Apache-2.0
// Norms over the last dim.
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

const std::array kTable {
    OpDefinition { .kind = OpKind::RmsNorm, .name = "rms_norm", .operands = 2, .rule = "... n!, n! -> ... n!" },
};

} // namespace

std::span<const OpDefinition> normDefinitions() { return kTable; }

} // namespace shardboard
