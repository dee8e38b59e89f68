// SPDX-License-Identifier: Apache-2.0
// Exports a design to another framework's configuration, with shards.json as the neutral proof.
#pragma once

#include "model/core/result.h"
#include "model/design/evaluation.h"
#include "model/io/exports/exportfiles.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardboard {

/// Targets that exist: jax.
std::vector<std::string> exportTargets();

/// The files of an export. A layout that the target cannot say exactly is refused in one line that names all tensors and the
/// reasons; nothing is ever written differently in silence. `stopped` is asked now and then; then it is cancelled.
Result<std::vector<ExportedFile>> exportDesign(const std::string& target, const Design& design,
                                               std::shared_ptr<const Evaluation> evaluation,
                                               const std::function<bool()>& stopped = {});
/// All that the target cannot say, one by one. None for a target that is not there.
std::vector<ExportRefusal> exportRefusals(const std::string& target, const Design& design, const Evaluation& evaluation);

/// A sentence for each kind of thing that the design says and the target's files do not: pins, recompute, overlap, ….
std::vector<std::string> exportLeftOut(const std::string& target, const Design& design);

} // namespace shardboard
