// SPDX-License-Identifier: Apache-2.0
// Copying what is selected in a table or list, with the headings: as tab-separated text (Ctrl+C), CSV or JSON (context menu). One
// for all views. GUI thread.
#pragma once

#include <QList>
#include <QString>
#include <QStringList>

#include <functional>

class QAbstractItemView;
class QMenu;
class QMimeData;

namespace shardboard {

/// Cells as text, a row each as long as the header. Line ends and tabs within a cell are blanks.
struct TableText {
    QStringList header;
    QList<QStringList> rows;
};

QString asTsv(const TableText& table); ///< a header and a line for each row, without a line end at the end
QString asCsv(const TableText& table); ///< RFC 4180: commas, CR LF, quotes where they are needed
QString asJson(const TableText& table); ///< an array of objects by the headings; numbers stay the text that is shown

/// The selected cells in the order in which they are seen: rows of trees with their parents' rows where those are selected too,
/// columns by their places. Columns that are hidden for want of room are there too where whole rows are selected; columns without a
/// heading and any text are left out. Of a cell that a delegate draws, which has no text, its accessible text.
TableText selectedCells(const QAbstractItemView* view);

/// Lets a view copy: by Ctrl+C, and by the actions `table.copy`, `table.copyCsv` and `table.copyJson`, which become actions() of
/// the view. A view that has no context menu gets one of its actions; one that has adds them by addCopyActions(). `cells` in place
/// of selectedCells() is for views whose delegates draw what no cell says. `more` adds forms of the program's own to what Ctrl+C
/// puts on the clipboard.
void makeCopyable(QAbstractItemView* view, std::function<TableText()> cells = {}, std::function<void(QMimeData*)> more = {});
void addCopyActions(QMenu* menu, const QAbstractItemView* view);

} // namespace shardboard
