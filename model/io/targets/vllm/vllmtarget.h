// SPDX-License-Identifier: Apache-2.0
// Export to vLLM: the sizes of its groups as a config file for `vllm serve`, where a design lays weights out as vLLM does.
#pragma once

#include "model/io/exports/exporttarget.h"

namespace shardboard {

/// vLLM takes sizes and cuts weights by its own rules (model/io/ranks/rankrule.h): a design that cuts one otherwise is refused.
ExportTarget vllmTarget();

} // namespace shardboard
