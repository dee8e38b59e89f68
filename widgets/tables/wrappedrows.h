// SPDX-License-Identifier: Apache-2.0
// Rows of a list whose texts wrap in their columns, each row as high as its longest text needs.
#pragma once

class QTreeWidget;

namespace shardboard {

/// To be called when texts or widths of columns are other ones. `least` is the height of a row of one line, in pixels.
void wrapRows(QTreeWidget* list, int least);

} // namespace shardboard
