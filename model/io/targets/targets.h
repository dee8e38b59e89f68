// SPDX-License-Identifier: Apache-2.0
// All export targets, and the export of a design to one of them, with shards.json as the neutral proof.
#pragma once

#include "model/core/result.h"
#include "model/design/evaluation.h"
#include "model/io/exports/exporttarget.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// In the order in which people are shown them.
const std::vector<ExportTarget>& exportTargets();
/// Null for an id that is none.
const ExportTarget* findExportTarget(std::string_view id);
/// The error for an id that is none lists those there are.
Result<const ExportTarget*> exportTargetNamed(const std::string& id);

/// The files of an export, shards.json last. A layout that the target cannot say exactly is refused in one line that names all
/// tensors and the reasons; nothing is ever written differently in silence. `stopped` is asked now and then; then it is cancelled.
Result<std::vector<ExportedFile>> exportDesign(const ExportTarget& target, const Design& design,
                                               std::shared_ptr<const Evaluation> evaluation,
                                               const std::function<bool()>& stopped = {});

} // namespace shardboard
