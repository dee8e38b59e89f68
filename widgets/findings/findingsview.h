// SPDX-License-Identifier: Apache-2.0
// What is wrong or worth knowing, worst first, with what it costs and a button where one edit repairs it; activating a
// finding selects the object that it is about.
#pragma once

#include "widgets/document/documentview.h"
#include "widgets/document/findingplace.h"

class QAction;
class QLabel;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace shardboard {

class LongWork;

class FindingsView : public DocumentView {
    Q_OBJECT
public:
    enum Column { NoteColumn, CostColumn, RepairColumn, ColumnCount };

    explicit FindingsView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    /// Applies the repair of the current finding, or of the first one that has one; for a menu too.
    QAction* repairAction() const { return m_repair; }
    /// Goes to the next finding, or with -1 back to the one before, and around.
    void showNext(int by);

Q_SIGNALS:
    void placeChosen(const FindingPlace& place); ///< a finding about pins, rules or memory was chosen: it stands in another view

protected:
    void refresh() override;
    void selectionChanged() override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void addRow(const DesignFinding& finding, int index);
    void addRepair(QTreeWidgetItem* item, const Repair& repair);
    void addShow(QTreeWidgetItem* item, const FindingPlace& place);
    QPushButton* addButton(QTreeWidgetItem* item, const QString& text);
    void fitColumns();
    void follow(QTreeWidgetItem* item);
    void repair(int index);
    void repairCurrent();
    void repairAll();
    void showState();
    void enableRepair();
    void tell(const Status& status);

    QTreeWidget* m_list;
    QLabel* m_total;
    QLabel* m_empty;
    QLabel* m_refusal;
    QPushButton* m_all;
    QAction* m_repair;
    LongWork* m_work; ///< all repairs are evaluated
    bool m_following = false;
};

} // namespace shardboard
