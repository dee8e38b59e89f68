// SPDX-License-Identifier: Apache-2.0
// What a changed design would come to: for findings, which tell what their repair saves, and for what tries many changes.
#pragma once

#include "model/design/evaluate.h"

#include <memory>

namespace shardboard {

/// evaluate() without the findings, which take their time.
Result<std::shared_ptr<const Evaluation>> planOnly(const Design& design, Misfits misfits = Misfits::Refuse);

} // namespace shardboard
