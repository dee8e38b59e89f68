// SPDX-License-Identifier: Apache-2.0
// Export to PyTorch: a Python module with the device mesh, placements by parameter name, what makes a model compute so, and its own
// check against shards.json.
#pragma once

#include "model/io/exports/exporttarget.h"

namespace shardboard {

/// torch cuts a dim by ceil, mesh axis after mesh axis. Mesh axes in another order, and fused parts of equal size, are strided
/// shards there, which are private.
ExportTarget torchTarget();

} // namespace shardboard
