// SPDX-License-Identifier: Apache-2.0
// The five cut rules side by side on a dim of the selected weight: who would cut where, and what it costs.
#pragma once

#include "widgets/document/documentview.h"

class QLabel;
class QTableView;

namespace shardboard {

class AxisPicker;
class ChoiceBox;
class CutsModel;
class NumberEdit;

class CutsView : public DocumentView {
    Q_OBJECT
public:
    explicit CutsView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;

public Q_SLOTS:
    /// Cuts the selected weight by a rule, as one step; says why not where that cannot be.
    void useRule(int row);

protected:
    void refresh() override;
    void selectionChanged() override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void buildLayout();
    void showWeight();
    void showDim();
    void compare();
    void fitSizes();
    std::vector<AxisRef> axes() const;
    bool isActual() const;

    CutsModel* m_model;
    ChoiceBox* m_dim;
    AxisPicker* m_axes;
    NumberEdit* m_grain;
    QLabel* m_note;
    QLabel* m_grainName;
    QLabel* m_empty;
    QLabel* m_message;
    QWidget* m_top;
    QTableView* m_table;
    std::string m_shown; ///< the weight that the dim, axes and unit were chosen for
};

} // namespace shardboard
