// SPDX-License-Identifier: Apache-2.0
// Writes the open design for another framework into a folder.
#pragma once

#include "model/core/result.h"

#include <QString>

#include <functional>

namespace shardboard {

class Document;
struct Design;
struct Evaluation;

/// Exports to `folder`. The text says which files were written; an error says which tensor refused and why, and then
/// nothing was written.
Result<QString> exportTo(const QString& target, const Document& document, const QString& folder);
/// The same anywhere, also on another thread; `stopped` is asked before anything is written.
Result<QString> exportTo(const QString& target, const Design& design, const Evaluation& evaluation, const QString& folder,
                         const std::function<bool()>& stopped = {});

/// Reads an export back and compares it with the design, tensor by tensor: a sentence that says that all are equal, or the error
/// that names the first that is not.
Result<QString> readBack(const Document& document, const QString& folder);
Result<QString> readBack(const Design& design, const Evaluation& evaluation, const QString& folder);

} // namespace shardboard
