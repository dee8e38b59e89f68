// SPDX-License-Identifier: Apache-2.0
// Rows of a list as high as those of all tables, whatever columns are in sight when the list is laid out. (A height that one column
// alone has goes unseen while that column is scrolled out.)
#pragma once

#include "widgets/look/theme.h"

#include <QStyledItemDelegate>

#include <algorithm>

namespace shardboard {

class RowDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const QSize out = QStyledItemDelegate::sizeHint(option, index);
        return { out.width(), option.widget != nullptr ? std::max(out.height(), rowHeight(option.widget)) : out.height() };
    }
};

} // namespace shardboard
