// SPDX-License-Identifier: Apache-2.0
#include "widgets/tables/wrappedrows.h"

#include <QTreeWidget>

#include <algorithm>

namespace shardboard {

void wrapRows(QTreeWidget* list, int least)
{
    constexpr int kPadding = 10; // of the style above and below the text
    constexpr int kBeside = 24; // of the style and the delegate at both sides
    constexpr int kHighest = 4000;
    list->setUniformRowHeights(false);
    list->setWordWrap(true);
    for (int row = 0; row < list->topLevelItemCount(); ++row) {
        QTreeWidgetItem* item = list->topLevelItem(row);
        int height = least;
        for (int column = 0; column < list->columnCount(); ++column) {
            if (list->isColumnHidden(column) || item->text(column).isEmpty())
                continue;
            const QVariant own = item->data(column, Qt::FontRole);
            const QFontMetrics metrics(own.isValid() ? own.value<QFont>() : list->font());
            const QRect room(0, 0, std::max(20, list->columnWidth(column) - kBeside), kHighest);
            height = std::max(height, metrics.boundingRect(room, Qt::TextWordWrap, item->text(column)).height() + kPadding - 2);
        }
        if (item->sizeHint(0).height() != height)
            item->setSizeHint(0, QSize(20, height));
    }
}

} // namespace shardboard
