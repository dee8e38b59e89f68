// SPDX-License-Identifier: Apache-2.0
// Compared lines as text to read: marked and coloured where something was added or removed.
#pragma once

#include "app/desktop/base/linediff.h"

class QPlainTextEdit;

namespace shardboard {

/// Replaces what stands there; `marked` tells what was added from what was there, `ending` stands below what is shown.
/// Of very many lines the first are shown, and how many more there are.
void showDiff(QPlainTextEdit* view, const std::vector<DiffLine>& lines, bool marked, const QString& ending = {});

} // namespace shardboard
