// SPDX-License-Identifier: Apache-2.0
// Export to JAX: a Python module with the mesh, one PartitionSpec per name pattern, and its own check against shards.json.
#pragma once

#include "model/formats/exporter.h"

namespace shardboard {

/// Files export.py and shards.json. Refused: a dim that does not divide (JAX demands exact division), a sub-axis (split the
/// mesh axis instead), a weight of unknown shape. Cancelled when `stopped` says so.
Result<std::vector<ExportedFile>> exportJax(const Design& design, const Evaluation& evaluation, const std::function<bool()>& stopped = {});
/// For which weights, and why; the first of them is the error of exportJax.
std::vector<Error> jaxRefusals(const Design& design, const Evaluation& evaluation);

} // namespace shardboard
