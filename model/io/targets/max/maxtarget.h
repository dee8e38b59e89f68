// SPDX-License-Identifier: Apache-2.0
// Export to MAX: a Python module with a DeviceMapping and a ShardingStrategy per weight, by the release that the design's picker
// profile names, under the policy that raises where MAX would move something on its own.
#pragma once

#include "model/io/exports/exporttarget.h"

namespace shardboard {

/// MAX cuts a dim into balanced parts over its mesh axes in mesh order, or in segments over one mesh axis; it knows no stages, no
/// sub-axes, and no partial maxima.
ExportTarget maxTarget();

} // namespace shardboard
