// SPDX-License-Identifier: Apache-2.0
// Export to Megatron-LM and Megatron-Bridge: flags and provider settings, where a design lays weights out as Megatron does.
#pragma once

#include "model/io/exports/exporttarget.h"

namespace shardboard {

/// Sizes and rules as of model/io/ranks/rankrule.h: a design that cuts a weight otherwise is refused.
ExportTarget megatronTarget();

} // namespace shardboard
