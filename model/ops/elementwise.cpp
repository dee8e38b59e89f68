// SPDX-License-Identifier: Apache-2.0
// Operations on single elements.
#include "model/ops/opdefinition.h"

#include <array>

namespace shardboard {

namespace {

const std::array kTable {
    OpDefinition { .kind = OpKind::Add, .name = "add", .operands = 2, .rule = "~, ~ -> ~ ; P P -> P" },
    OpDefinition { .kind = OpKind::Mul, .name = "mul", .operands = 2, .rule = "~, ~ -> ~" },
    OpDefinition { .kind = OpKind::Silu, .name = "silu", .rule = "... -> ..." },
    OpDefinition { .kind = OpKind::Gelu, .name = "gelu", .rule = "... -> ..." },
};

} // namespace

std::span<const OpDefinition> elementwiseDefinitions() { return kTable; }

} // namespace shardboard
