// SPDX-License-Identifier: Apache-2.0
#include "widgets/tables/wrappedrows.h"

#include <QTreeWidget>

#include <algorithm>

namespace shardboard {

void wrapRows(QTreeWidget* list, int least)
{
    constexpr int kPadding = 10; // of the style above and below the text
    constexpr int kBeside = 22; // of the style and the delegate at both sides: a column as wide as its texts does not wrap them
    constexpr int kHighest = 4000;
    constexpr int kRounding = 2; // of a column that is as wide as its text
    list->setUniformRowHeights(false);
    list->setWordWrap(true);
    int line = 0; // rows of as many lines are as high, whatever the fonts of their columns
    for (int row = 0; row < list->topLevelItemCount(); ++row)
        for (int column = 0; column < list->columnCount(); ++column) {
            const QVariant own = list->topLevelItem(row)->data(column, Qt::FontRole);
            line = std::max(line, QFontMetrics(own.isValid() ? own.value<QFont>() : list->font()).lineSpacing());
        }
    least = std::max(least, line + kPadding - 2);
    for (int row = 0; row < list->topLevelItemCount(); ++row) {
        QTreeWidgetItem* item = list->topLevelItem(row);
        int lines = 1;
        for (int column = 0; column < list->columnCount(); ++column) {
            if (list->isColumnHidden(column) || item->text(column).isEmpty())
                continue;
            const QVariant own = item->data(column, Qt::FontRole);
            const QFontMetrics metrics(own.isValid() ? own.value<QFont>() : list->font());
            const QRect room(0, 0, std::max(20, list->columnWidth(column) - kBeside), kHighest);
            if (metrics.horizontalAdvance(item->text(column)) <= room.width() + kRounding)
                continue; // one line
            const int wrapped = metrics.boundingRect(room, Qt::TextWordWrap, item->text(column)).height();
            lines = std::max(lines, (wrapped + metrics.lineSpacing() / 2) / metrics.lineSpacing());
        }
        const int height = least + (lines - 1) * line;
        if (item->sizeHint(0).height() != height)
            item->setSizeHint(0, QSize(20, height));
    }
}

} // namespace shardboard
