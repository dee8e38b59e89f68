// SPDX-License-Identifier: Apache-2.0
// Export to JAX: a Python module with the mesh, one PartitionSpec per name pattern, and its own check against shards.json.
#pragma once

#include "model/io/exports/exporttarget.h"

namespace shardboard {

/// JAX cuts a dim into equal parts, in order over whole mesh axes, and has every weight on every device; its mesh has at most 32
/// axes.
ExportTarget jaxTarget();

} // namespace shardboard
