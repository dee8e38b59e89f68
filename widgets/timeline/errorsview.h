// SPDX-License-Identifier: Apache-2.0
// Where a prediction was wrong: a row for each operation and collective of the step that the timeline shows, the most seconds
// first. A row that is chosen is shown in the timeline and selected everywhere.
#pragma once

#include "widgets/document/documentview.h"
#include "widgets/timeline/timelinesource.h"

class QLabel;
class QTableView;

namespace shardboard {

class ElidedLabel;
class ErrorsFilter;
class ErrorsModel;

class ErrorsView : public DocumentView {
    Q_OBJECT
public:
    ErrorsView(Document* document, TimelineSource* source, QWidget* parent = nullptr);
    QTableView* table() const { return m_table; }
    ErrorsModel* model() const { return m_model; }
    QSize sizeHint() const override;

protected:
    void refresh() override;
    void selectionChanged() override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void fitColumns();

    TimelineSource* m_source;
    ErrorsModel* m_model;
    ErrorsFilter* m_filter;
    QTableView* m_table;
    ElidedLabel* m_total;
    QLabel* m_empty;
    bool m_following = false;
};

} // namespace shardboard
