// SPDX-License-Identifier: Apache-2.0
// Export to Hugging Face transformers: tensor- and expert-parallel plans for versions 5 and 4.5x, and a check by transformers.
#pragma once

#include "model/io/exports/exporttarget.h"

namespace shardboard {

/// A plan knows one tensor-parallel group; the other mesh axes hold copies, or FSDP cuts dim 0 of every parameter over one of them.
ExportTarget hfTarget();

} // namespace shardboard
