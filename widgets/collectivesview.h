// SPDX-License-Identifier: Apache-2.0
// The list of collectives: sortable, filterable, copied as TSV, linked with the selection.
#pragma once

#include "widgets/documentview.h"

class QLineEdit;
class QComboBox;
class QTableView;

namespace shardboard {

class CollectivesModel;

class PhaseFilter;

class CollectivesView : public DocumentView {
    Q_OBJECT
public:
    explicit CollectivesView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    /// The selected rows with a header line, tab-separated.
    QString selectedText() const;
    void copy() const;

protected:
    void refresh() override;
    void selectionChanged() override;
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void fitColumns();
    void showPhases();
    void showState();

    CollectivesModel* m_model;
    PhaseFilter* m_filter;
    QLineEdit* m_filterEdit;
    QComboBox* m_phase;
    QTableView* m_table;
    QLabel* m_total;
    QLabel* m_empty;
    bool m_following = false;
    bool m_sized = false;
};

} // namespace shardboard
