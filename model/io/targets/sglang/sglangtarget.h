// SPDX-License-Identifier: Apache-2.0
// Export to SGLang: the sizes of its groups as a config file for its server, where a design lays weights out as SGLang does.
#pragma once

#include "model/io/exports/exporttarget.h"

namespace shardboard {

/// SGLang takes sizes and cuts weights by its own rules (model/io/ranks/rankrule.h): a design that cuts one otherwise is refused.
ExportTarget sglangTarget();

} // namespace shardboard
