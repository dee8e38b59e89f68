// SPDX-License-Identifier: Apache-2.0
// Where a step's time and memory go: a row for each part of the model and phase, unfolding into operations. An operation
// that is chosen is selected everywhere.
#pragma once

#include "model/plan/time/partcosts.h"
#include "widgets/document/documentview.h"

#include <QFont>
#include <QStringList>
#include <QVariant>

#include <memory>
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
    friend class CostRow;
    std::vector<QStringList> rowNames() const;
    void makeRows(const std::vector<QStringList>& before); ///< names of the rows that there are
    void renewRows();
    /// What a row shows: of a part, or where `operation` is not -1 of one of its operations.
    QVariant cell(std::size_t part, int operation, int column, int role) const;
    QVariant partCell(const PartCost& part, const QString& name, int column, int role) const;
    QVariant operationCell(const PartCost& part, const OperationCost& operation, int column, int role) const;
    void showTotal();
    void fitColumns();
    void choose(const QTreeWidgetItem* item);

    std::shared_ptr<const Evaluation> m_evaluation; ///< that the rows are of
    std::vector<PartCost> m_parts;
    std::vector<QStringList> m_names; ///< of the rows that there are, by part: its own, then those of its operations
    QFont m_bold;
    QFont m_digits;
    QTreeWidget* m_tree;
    ElidedLabel* m_total;
    QLabel* m_empty;
    Legend* m_legend;
    QString m_shown; ///< key of the legend's entry that is shown alone
    bool m_following = false;
};

} // namespace shardboard
