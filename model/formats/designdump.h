// SPDX-License-Identifier: Apache-2.0
// A design as golden dump: the three files that MaxText writes, so that a layout can be guarded in somebody's CI.
#pragma once

#include "model/formats/layouttable.h"

namespace shardboard {

struct DesignDump {
    LogicalDump logical; ///< weights whose dims have logical names
    NamedDump named; ///< every weight, each layer apart, by its name in the checkpoint
    ActivationDump activations; ///< every value that is whole or cut; one that stays partial has no spec and is left out
};

/// Errors: a weight whose shape is not known, an edited device order, a layout with sub-axes (a dump names whole mesh axes).
Result<DesignDump> dumpOf(const Design& design, const Evaluation& evaluation);

/// Writes logical_shardings.json, named_shardings.json and input_shardings.json, each atomically, into a folder that is made
/// where it is missing. A link of such a name is refused before anything is written.
Status writeDump(const DesignDump& dump, const std::string& folder);

} // namespace shardboard
