// SPDX-License-Identifier: Apache-2.0
// Draws a weight in two lines (name; shape) with the picture of its cut and its bytes per device, and a group in one.
#pragma once

#include <QStyledItemDelegate>

namespace shardboard {

class WeightDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    static constexpr int kIndent = 18; ///< of the weights of a group, and room for the group's arrow

    explicit WeightDelegate(QObject* parent = nullptr);
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

} // namespace shardboard
