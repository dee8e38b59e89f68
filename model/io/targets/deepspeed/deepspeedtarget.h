// SPDX-License-Identifier: Apache-2.0
// Export to DeepSpeed: one JSON configuration with AutoTP's layer specs and the ZeRO stage.
#pragma once

#include "model/io/exports/exporttarget.h"

namespace shardboard {

/// AutoTP cuts linear layers over one group, ZeRO stage 3 cuts every parameter over the data-parallel ranks.
ExportTarget deepspeedTarget();

} // namespace shardboard
