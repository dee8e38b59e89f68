// SPDX-License-Identifier: Apache-2.0
// Draws a row of a list as a bold title with a text below it that wraps to the width of the column, so that long
// explanations are read in full.
#pragma once

#include <QStyledItemDelegate>

class QAbstractItemView;

namespace shardboard {

class NoteDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    enum Role {
        TitleRole = Qt::UserRole + 100, ///< one line, elided; none: the row is the text alone
        TextRole, ///< as many lines as it takes; none: the row is the title alone
        TitleColorRole, ///< QColor; the text colour where it is absent
        TextColorRole, ///< QColor; the quiet colour where it is absent
        IndentRole ///< pixels that the row stands in
    };

    /// `view` gives the width of the column.
    explicit NoteDelegate(QAbstractItemView* view);
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

private:
    QAbstractItemView* m_view;
};

} // namespace shardboard
