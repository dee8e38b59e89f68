// SPDX-License-Identifier: Apache-2.0
// What every export of a design makes, whatever its target: files, and refusals where the target cannot say what the plan has.
#pragma once

#include "model/core/result.h"
#include "model/io/file/textsink.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shardboard {

struct ExportedFile {
    std::string name; ///< relative to the export folder
    TextSource text; ///< the same whenever it is read; of very many devices a hundred megabytes
};

/// Something that a target cannot say as the plan has it.
struct ExportRefusal {
    Error error; ///< `where` is the weight's name in the design, or a key of the design where it is of all weights
    std::int64_t tensors = 0; ///< how many weights (layers one by one) and inputs it is of; 0: of the whole design
};

/// Weights and inputs that they are of; 0 where all are of the whole design.
std::int64_t refusedTensors(const std::vector<ExportRefusal>& refusals);

/// The error of an export with these refusals, of which there is one at least.
Error refusalError(const std::vector<ExportRefusal>& refusals, const std::string& framework);

/// Creates the folder if needed and writes the files atomically one by one, in place of files of these names. A link of such a name
/// is refused before anything is written: it would lead out of the folder. `stopped` is asked before anything is made and while
/// files are written; when it says so, it is cancelled and the files before stay. The error of a file that cannot be written names
/// those that were and those that were not.
Status writeExport(const std::string& folder, const std::vector<ExportedFile>& files, const std::function<bool()>& stopped = {});

} // namespace shardboard
