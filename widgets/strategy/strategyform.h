// SPDX-License-Identifier: Apache-2.0
// The fields of a strategy: its kind, and of the parameters those that the kind has and no others.
#pragma once

#include "widgets/edits/strategydraft.h"

#include <QWidget>

#include <vector>

class QGridLayout;
class QLabel;
class QLineEdit;

namespace shardboard {

class AxisPicker;
class ChoiceBox;
class NumberEdit;
class SegmentTable;

class StrategyForm : public QWidget {
    Q_OBJECT
public:
    explicit StrategyForm(QWidget* parent = nullptr);

    /// Shows a draft for a weight, without a signal.
    void showDraft(const StrategyDraft& draft, const WeightLayout& weight, const Mesh& mesh);
    /// What the fields say.
    StrategyDraft draft() const;
    /// Puts the cursor into the kind, or into the text of the spec.
    void focusKind();
    void focusSpec();
    /// Marks the text of the spec as refused, and tells what it was read as.
    void showSpecState(bool refused, const QString& readAs);
    void updateLook();

Q_SIGNALS:
    void kindChosen(StrategyKind kind);
    void changed(); ///< of a parameter
    void submitted(); ///< Return in a field of text

private:
    void buildRows();
    QLabel* addRow(const QString& name, QWidget* field);
    void showKinds(const StrategyDraft& draft, const WeightLayout& weight);
    void showDims(const StrategyDraft& draft, const WeightLayout& weight);
    void showCuts(const StrategyDraft& draft);
    void showRow(QWidget* field, bool visible);

    StrategyDraft m_draft; ///< fields that are not shown keep what they had
    QGridLayout* m_grid;
    std::vector<std::pair<QWidget*, QLabel*>> m_rows;
    ChoiceBox* m_kind;
    AxisPicker* m_axes;
    ChoiceBox* m_dim;
    QWidget* m_headsRow;
    NumberEdit* m_heads;
    NumberEdit* m_headDim;
    SegmentTable* m_segments;
    QLineEdit* m_spec;
    QLabel* m_readAs;
    ChoiceBox* m_cut;
};

} // namespace shardboard
