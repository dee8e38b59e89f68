// SPDX-License-Identifier: Apache-2.0
// Designs that a search tried: step time by memory of a device. The shape of the mesh is hue and mark, what does not fit is faded,
// the front is a staircase, and the two designs that are compared have flags.
#pragma once

#include "widgets/document/documentview.h"

#include <QTimer>

#include <vector>

class QLabel;
class QPushButton;

namespace shardboard {

class ElidedLabel;
class ExploreSearch;
class Legend;
class ScatterChart;
class ViewHeader;

/// A design that is compared, wherever it came from.
struct ComparedDesign {
    double seconds = 0;
    double leastBytes = 0;
    QString letter; ///< A, B
    QString name;
};

class DesignsView : public DocumentView {
    Q_OBJECT
public:
    DesignsView(Document* document, ExploreSearch* search, QWidget* parent = nullptr);
    QSize sizeHint() const override { return { 620, 320 }; }

    void setCompared(std::vector<ComparedDesign> compared);
    /// What the form asks, for as long as nothing was tried, and whether it can be searched.
    void setAsked(const QString& sentence, bool can);
    /// Rings a point, as its row in another view is hovered.
    void setHovered(int point);
    ScatterChart* chart() const { return m_chart; }

Q_SIGNALS:
    void hovered(int point);
    void chosen(int point, bool asA); ///< to be compared
    void activated(int point); ///< to be taken
    void limitDragged(double bytes);
    void searchWanted();

protected:
    void refresh() override;
    void showEvent(QShowEvent* event) override;

private:
    void draw();
    void showLegend();
    void showCurrent();
    void showPoint(int point);
    int groupOf(int tried) const;

    ExploreSearch* m_search;
    ViewHeader* m_header;
    ScatterChart* m_chart;
    Legend* m_legend;
    ElidedLabel* m_point;
    QWidget* m_body;
    QWidget* m_empty;
    QLabel* m_emptyText;
    QPushButton* m_start;
    QTimer m_later; ///< until the points are drawn anew
    std::vector<ComparedDesign> m_compared;
    QString m_sentence;
    bool m_byStages = false; ///< what the groups tell apart: stages, or else how many devices heads are cut over
    std::vector<std::int64_t> m_degrees; ///< of the groups, in order
    std::vector<int> m_shown; ///< of the chart's points: index into those tried
};

} // namespace shardboard
