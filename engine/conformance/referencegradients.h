// SPDX-License-Identifier: Apache-2.0
// The part of reference.h that is about gradients.
#pragma once

#include "engine/conformance/reference.h"

namespace shardboard::conformance {

/// For gradients and AdamStep. Throws std::logic_error for other kinds.
std::vector<double> gradientReference(OpKind kind, const OpAttributes& attributes, const std::vector<const Value*>& operands,
                                      const Shape& result);

} // namespace shardboard::conformance
