// SPDX-License-Identifier: Apache-2.0
// The steps of the history as named edits that can be kept in a file and made again, on this design or another one. Each is a
// JSON Patch (RFC 6902) of the design file, with tests, so that an edit is refused where a design says something else at its
// place than when the edit was made.
//
// The file: {"shardboard_edits": 1, "edits": [{"edit": "Cut o_proj dim 1 over model", "patch": [{"op": "test", …}, …]}, …]}
#pragma once

#include "model/core/result.h"

#include <QString>

#include <string>
#include <vector>

class QUndoStack;

namespace shardboard {

class Document;

inline constexpr int kEditsVersion = 1;

struct NamedEdit {
    QString name;
    std::string patch; ///< JSON text
};

/// What was done and not undone, in order.
std::vector<NamedEdit> namedEdits(const QUndoStack& stack);

std::string editsText(const std::vector<NamedEdit>& edits);
/// `where` names the file for errors: not JSON, no edits, a newer version.
Result<std::vector<NamedEdit>> editsFromText(const std::string& text, const std::string& where);

struct Replay {
    int made = 0; ///< steps
    int there = 0; ///< edits whose outcome the design had already: no step each
    Status status = done();
};

/// Makes them one after another, each as a step of its own under its name. An edit whose outcome is there already changes nothing,
/// and a strategy or pin takes the place of the one that it replaces, as by hand. Ends at the first that cannot be made, which the
/// error names; those before stay and can be undone, as far as the history reaches.
Replay replay(Document& document, const std::vector<NamedEdit>& edits);

} // namespace shardboard
