// SPDX-License-Identifier: Apache-2.0
// Which operands of an operation need no memory of their own.
#pragma once

#include "model/ops/opdefinition.h"

#include <cstddef>

namespace shardboard::engine {

/// Large weights that the operation reads in row chunks need no memory of their own.
inline bool isStreamed(OpKind kind, std::size_t operand) { return definitionOf(kind).streamed == static_cast<int>(operand); }

/// The operand whose memory the result may take.
inline std::size_t takenOperand(OpKind kind) { return kind == OpKind::AdamStep ? 1 : 0; }

} // namespace shardboard::engine
