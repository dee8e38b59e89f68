// SPDX-License-Identifier: Apache-2.0
// All weights: filter, sort, group by layer, and the strategies of one or many changed in place.
#pragma once

#include "widgets/document/documentview.h"
#include "widgets/tables/tablecopy.h"

#include <vector>

class QLabel;
class QLineEdit;
class QMenu;
class QToolButton;
class QTreeView;

namespace shardboard {

class ViewHeader;
class WeightFilter;
class WeightModel;
struct Strategy;
struct WeightEdit;

class WeightPanel : public DocumentView {
    Q_OBJECT
public:
    explicit WeightPanel(Document* document, QWidget* parent = nullptr);

    QSize sizeHint() const override;
    /// Indices into Evaluation::weights of the selected rows; a selected group stands for all its weights.
    std::vector<int> selectedWeights() const;
    /// Replicate, cut a dim over an axis, take an axis off, write a strategy or a spec; refused ones are disabled and say why.
    void fillMenu(QMenu* menu);
    /// Puts the cursor into the filter.
    void focusFilter();

Q_SIGNALS:
    /// The strategy of the selected weights is to be written, maybe as a spec.
    void strategyRequested(bool asSpec);

protected:
    void refresh() override;
    void selectionChanged() override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void buildLayout();
    void showCount();
    void followRows();
    void apply(const Design& design, const QString& text);
    void addAction(QMenu* menu, const QString& text, const Design& design, const QString& undoText);
    void contextMenu(const QPoint& point);
    TableText selectedTable() const; ///< for the clipboard
    void paste();
    WeightEdit pasteEdit(const std::vector<int>& weights, const Strategy& strategy) const;

    WeightModel* m_model;
    WeightFilter* m_filter;
    ViewHeader* m_header;
    QLineEdit* m_filterEdit;
    QToolButton* m_sort;
    QTreeView* m_tree;
    QLabel* m_empty;
    QLabel* m_message;
    bool m_following = false;
};

} // namespace shardboard
