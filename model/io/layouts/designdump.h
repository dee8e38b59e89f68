// SPDX-License-Identifier: Apache-2.0
// A design as golden dump: the three files that MaxText writes, so that a layout can be guarded in somebody's CI.
#pragma once

#include "model/io/layouts/layouttable.h"

#include <cstdint>
#include <string>

namespace shardboard {

struct DumpCounts {
    std::int64_t weights = 0;
    std::int64_t activations = 0;
};

/// Errors, by the design's entry or weight: a weight whose shape is not known or whose name another one has, an edited device
/// order, a layout with sub-axes (a dump names whole mesh axes).
Status canDump(const Design& design, const Evaluation& evaluation);

/// Writes three files, each atomically, into a folder that is made where it is missing: logical_shardings.json (weights whose
/// dims have logical names), named_shardings.json (every weight, each layer apart, by its name in the checkpoint) and
/// input_shardings.json (every value that is whole or cut; one that stays partial has no spec and is left out).
/// For what canDump() allows. A link of such a name is refused before anything is written. Errors: a file that cannot be written.
Result<DumpCounts> writeDump(const Design& design, const Evaluation& evaluation, const std::string& folder);

} // namespace shardboard
