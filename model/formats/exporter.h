// SPDX-License-Identifier: Apache-2.0
// Exports a design to another framework's configuration, with shards.json as the neutral proof.
#pragma once

#include "model/core/result.h"
#include "model/design/evaluate.h"

#include <functional>
#include <string>
#include <vector>

namespace shardboard {

struct ExportedFile {
    std::string name; ///< relative to the export folder
    std::string content;
};

/// Targets that exist: jax.
std::vector<std::string> exportTargets();

/// The files of an export. A layout that the target cannot say exactly is refused with the tensor's name and the reason;
/// nothing is ever written differently in silence. `stopped` is asked now and then; then it is cancelled.
Result<std::vector<ExportedFile>> exportDesign(const std::string& target, const Design& design, const Evaluation& evaluation,
                                               const std::function<bool()>& stopped = {});
/// All that the target cannot say: an error for each weight, named by `where`. None for a target that is not there.
std::vector<Error> exportRefusals(const std::string& target, const Design& design, const Evaluation& evaluation);
/// Creates the folder if needed and writes the files atomically one by one. `stopped` is asked before anything is made and before
/// each file; when it says so, it is cancelled and the files before stay. The error of a file that cannot be written names those that
/// were and those that were not.
Status writeExport(const std::string& folder, const std::vector<ExportedFile>& files, const std::function<bool()>& stopped = {});

} // namespace shardboard
