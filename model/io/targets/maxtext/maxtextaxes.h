// SPDX-License-Identifier: Apache-2.0
// Mesh axes of a design under the names that MaxText knows; it has options for their sizes only under these.
#pragma once

#include "model/core/mesh.h"

#include <string>
#include <vector>

namespace shardboard {

/// The same mesh with MaxText's names, in the same order: an axis of MaxText's keeps its name, `tp` and `model` become `tensor`,
/// `dp` `data`, `ep` `expert`, `cp` `context`; any other takes a name that is free. Error: more axes than there are names.
Result<Mesh> maxtextMesh(const Mesh& mesh);

} // namespace shardboard
