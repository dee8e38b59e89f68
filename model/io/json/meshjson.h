// SPDX-License-Identifier: Apache-2.0
// A mesh as every document has it: {"axes": ["data", "model"], "sizes": [2, 4], "device_ids": [...] where they are edited}.
#pragma once

#include "model/core/mesh.h"
#include "model/io/json/jsonfields.h"

namespace shardboard {

nlohmann::json meshJson(const Mesh& mesh);

/// Of the object that `from` reads; the first problem becomes that of the document.
void readMesh(JsonFields& from, Mesh& mesh);

} // namespace shardboard
