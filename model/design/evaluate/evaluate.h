// SPDX-License-Identifier: Apache-2.0
// An evaluation with its findings.
#pragma once

#include "model/design/evaluation.h"

#include <memory>

namespace shardboard {

/// planOnly(), and what there is to find in it. Errors as of that.
Result<std::shared_ptr<const Evaluation>> evaluate(const Design& design, Misfits misfits = Misfits::Refuse);

} // namespace shardboard
