// SPDX-License-Identifier: Apache-2.0
// Draws a rule with its mesh axes as chips in the axes' colours (an axis that the mesh lacks has a dashed outline) and a
// bar at the left that says what the rule does for the selected weight; edits names and axes in place with completion.
#pragma once

#include <QStyledItemDelegate>

class QLineEdit;

namespace shardboard {

class RuleDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    explicit RuleDelegate(QObject* parent = nullptr);
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void setEditorData(QWidget* editor, const QModelIndex& index) const override;
    void setModelData(QWidget* editor, QAbstractItemModel* model, const QModelIndex& index) const override;
    void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

/// Completes the last of several words that are separated by commas, or by another sign, out of `words`.
void completeLastWord(QLineEdit* edit, const QStringList& words, QChar separator = QLatin1Char(','));

} // namespace shardboard
