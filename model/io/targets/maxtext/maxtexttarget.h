// SPDX-License-Identifier: Apache-2.0
// Export to MaxText: a configuration with mesh and logical axis rules that lay out MaxText's own parameters as the design does.
#pragma once

#include "model/io/exports/exporttarget.h"

namespace shardboard {

/// Rules name dims and not weights, so that a design can be said where weights that share a logical name agree, or where a conflict
/// of axes tells them apart (rulesearch.h). Dims are cut into equal parts, heads whole; layers are stacked, so that all have the
/// same layouts; MaxText orders the devices.
ExportTarget maxtextTarget();

} // namespace shardboard
