// SPDX-License-Identifier: Apache-2.0
// Export to Shardy: an MLIR module with the mesh and every tensor's sharding, the same as texts by name, and a Python module that
// puts them on the arguments of another module.
#pragma once

#include "model/io/exports/exporttarget.h"

namespace shardboard {

/// Shardy says any order of axes, sub-axes, and partial values of every kind; it pads a dim that does not divide, knows no stages,
/// and takes device ids 0 to n-1 in any order.
ExportTarget shardyTarget();

} // namespace shardboard
