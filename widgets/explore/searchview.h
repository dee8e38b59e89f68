// SPDX-License-Identifier: Apache-2.0
// How far a search is: the best and the lower bound over time, what is tried now, what is left, when it stops, and, at its end,
// what is certain of its answer.
#pragma once

#include "widgets/document/documentview.h"

#include <QTimer>

class QLabel;
class QGridLayout;
class QScrollArea;

namespace shardboard {

class BoundChart;
class ElidedLabel;
class ExploreSearch;
class ViewHeader;
class WrappedLabel;

class SearchView : public DocumentView {
    Q_OBJECT
public:
    SearchView(Document* document, ExploreSearch* search, QWidget* parent = nullptr);
    QSize sizeHint() const override { return { 330, 320 }; }

protected:
    void refresh() override;
    void showEvent(QShowEvent* event) override;

private:
    struct Line {
        QLabel* name;
        ElidedLabel* value;
    };
    Line addLine(QGridLayout* grid, int row, const char* id, const QString& name);
    void draw();
    void drawChart();
    void showState();
    void showCertificate();
    QString valueText(double value) const;

    ExploreSearch* m_search;
    ViewHeader* m_header;
    BoundChart* m_chart;
    QLabel* m_empty;
    QWidget* m_body;
    QWidget* m_lines;
    Line m_now {};
    Line m_left {};
    Line m_stops {};
    QScrollArea* m_scroll;
    WrappedLabel* m_certificate;
    QTimer m_clock; ///< while it searches
};

} // namespace shardboard
