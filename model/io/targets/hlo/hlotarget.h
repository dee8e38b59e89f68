// SPDX-License-Identifier: Apache-2.0
// Export to XLA: the HloSharding of every tensor as it stands in an HLO module, and a Python module that puts it there.
#pragma once

#include "model/io/exports/exporttarget.h"

namespace shardboard {

/// XLA pads a dim that does not divide, knows neither stages nor partial maxima, and takes device ids 0 to n-1 in any order: those
/// that are no iota are listed.
ExportTarget hloTarget();

} // namespace shardboard
