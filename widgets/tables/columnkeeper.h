// SPDX-License-Identifier: Apache-2.0
// What a person did to the columns of a table: widths, order, sorting. Views size their columns themselves until somebody drags
// one; from then on that column keeps its width, whatever the view does later. Child of its header. GUI thread.
#pragma once

#include <QHash>
#include <QObject>
#include <QVariantMap>

class QAbstractItemView;
class QHeaderView;

namespace shardboard {

class ColumnKeeper : public QObject {
    Q_OBJECT
public:
    /// `view` is a table or a tree. Null for others, and for those without a heading.
    static ColumnKeeper* watch(QAbstractItemView* view);

    /// For settings: `widths` (column to pixels), `order` (columns from the left), `sort` (column, negative: none; then 0 or 1 for
    /// descending). What was not touched is absent.
    QVariantMap state() const;
    /// Wrong or old states are left aside in parts.
    void restore(const QVariantMap& state);

Q_SIGNALS:
    void changed(); ///< by a person

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    ColumnKeeper(QAbstractItemView* view, QHeaderView* header);
    void resized(int column, int width);
    void apply();

    QAbstractItemView* m_view;
    QHeaderView* m_header;
    QHash<int, int> m_widths; ///< of columns that a person sized
    bool m_pressed = false; ///< the mouse on the heading
    bool m_ordered = false;
    bool m_sorted = false;
    bool m_applying = false;
    bool m_pending = false;
};

} // namespace shardboard
