// SPDX-License-Identifier: Apache-2.0
// A list of several columns that has no room for them side by side: then a row is a title with a text below it (notedelegate.h),
// both in the column of the title, and the other columns are left out.
#pragma once

#include <QHeaderView>
#include <QObject>

#include <vector>

class QAbstractItemDelegate;
class QTreeView;

namespace shardboard {

class NoteDelegate;

class NarrowRows : public QObject {
    Q_OBJECT
public:
    /// `others` are left out where the list is narrower than `least` pixels, at text of the usual size. Items hold both forms:
    /// texts in their columns, and NoteDelegate's roles in the column of the title.
    NarrowRows(QTreeView* list, int title, std::vector<int> others, int least);
    bool isNarrow() const { return m_narrow; }

Q_SIGNALS:
    void changed();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void fit();

    QTreeView* m_list;
    int m_title;
    std::vector<int> m_others;
    int m_least;
    NoteDelegate* m_notes;
    QAbstractItemDelegate* m_plain; ///< of the title where there is room
    QHeaderView::ResizeMode m_stretched = QHeaderView::Interactive; ///< of its column, likewise
    bool m_narrow = false;
};

} // namespace shardboard
