// SPDX-License-Identifier: Apache-2.0
// Export to TensorRT-LLM: the sizes of its groups as a YAML file of its LLM API, where a design lays weights out as TensorRT-LLM
// does. Its rules are those of its sources; TensorRT-LLM itself has not read an export.
#pragma once

#include "model/io/exports/exporttarget.h"

namespace shardboard {

/// TensorRT-LLM takes sizes and cuts weights by its own rules (model/io/ranks/rankrule.h): a design that cuts one otherwise is
/// refused.
ExportTarget trtllmTarget();

} // namespace shardboard
