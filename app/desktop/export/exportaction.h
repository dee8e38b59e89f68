// SPDX-License-Identifier: Apache-2.0
// Writes the open design for another framework into a folder.
#pragma once

#include "model/core/result.h"

#include <QString>

#include <functional>
#include <vector>

namespace shardboard {

class Document;
struct Design;
struct Evaluation;
struct ExportedFile;
struct ExportTarget;

/// Exports to `folder`. The text says which files were written; an error says which tensor refused and why, and then
/// nothing was written.
Result<QString> exportTo(const ExportTarget& target, const Document& document, const QString& folder);
/// Writes files that are made already; also on another thread. `stopped` is asked before anything is written and before each file;
/// when it says so, it is cancelled and the files before stay.
Result<QString> writeFiles(const std::vector<ExportedFile>& files, const QString& folder,
                           const std::function<bool()>& stopped = {});

/// Reads an export back and compares it with the design, tensor by tensor: a sentence that says that all are equal, or the error
/// that names the first that is not.
Result<QString> readBack(const Document& document, const QString& folder);
Result<QString> readBack(const Design& design, const Evaluation& evaluation, const QString& folder);

} // namespace shardboard
