// SPDX-License-Identifier: Apache-2.0
// Where a step's time and memory go: a row for each part of the model and phase, unfolding into operations. An operation
// that is chosen is selected everywhere.
#pragma once

#include "model/plan/time/partcosts.h"
#include "widgets/document/documentview.h"

#include <vector>

class QLabel;
class QTreeWidget;
class QTreeWidgetItem;

namespace shardboard {

class ElidedLabel;
class Legend;

class CostView : public DocumentView {
    Q_OBJECT
public:
    explicit CostView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    Legend* legend() const { return m_legend; }

protected:
    void refresh() override;
    void selectionChanged() override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void addPart(const PartCost& part, double step);
    void addOperation(QTreeWidgetItem* parent, const PartCost& part, const OperationCost& operation, double step);
    void showTotal();
    void fitColumns();
    void choose(const QTreeWidgetItem* item);

    std::vector<PartCost> m_parts;
    QTreeWidget* m_tree;
    ElidedLabel* m_total;
    QLabel* m_empty;
    Legend* m_legend;
    QString m_shown; ///< key of the legend's entry that is shown alone
    bool m_following = false;
};

} // namespace shardboard
