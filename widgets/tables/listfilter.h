// SPDX-License-Identifier: Apache-2.0
// Ctrl+F in any list, table or tree: a line in its corner, in which typing leaves the rows that have the text in any column.
// Escape brings all rows back. Where no row is left, that is said where the rows were, with a button that clears the filter.
// A view that has a filter of its own above it keeps that one; it gets the key and the message.
#pragma once

#include <QObject>
#include <QPointer>
#include <QString>

class QAbstractItemView;
class QFrame;
class QLabel;
class QLineEdit;
class QModelIndex;
class QTimer;
class QWidget;

namespace shardboard {

class ListFilter : public QObject {
    Q_OBJECT
public:
    /// For every view in a panel. The filter of its own is a field whose name ends in `Filter`. In a panel with one view the key
    /// works wherever the focus is in it.
    static void installIn(QWidget* panel);
    /// `own`: the filter above the view, if there is one; what it hides is not this one's business.
    ListFilter(QAbstractItemView* view, QLineEdit* own, QWidget* keyScope);

    /// Shows the line and puts the cursor into it.
    void open();
    void clear();
    QString text() const;
    bool saysNoMatch() const;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void makeBar();
    void makeMessage();
    void followModel();
    void apply();
    bool showMatching(const QModelIndex& parent, bool parentMatches, int& shown, int& all) const;
    void updateMessage();
    void place();

    QAbstractItemView* m_view;
    QPointer<QLineEdit> m_edit;
    bool m_own; ///< the field is that of the panel
    QFrame* m_bar = nullptr;
    QLabel* m_count = nullptr;
    QWidget* m_message = nullptr;
    QLabel* m_messageText = nullptr;
    QTimer* m_timer; ///< applies it again when the rows are others
    bool m_hiding = false; ///< rows may be hidden by this filter
};

} // namespace shardboard
