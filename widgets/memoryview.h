// SPDX-License-Identifier: Apache-2.0
// Memory of the fullest device: whether it fits, by cause, and over the operations of a step, stage by stage of a pipeline.
#pragma once

#include "model/plan/memory/timeline.h"
#include "widgets/documentview.h"

#include <vector>

class QGridLayout;
class QLabel;
class QVBoxLayout;

namespace shardboard {

class ChoiceBox;
class ElidedLabel;
class FitList;
class StackedBar;
class TimelineChart;

class MemoryView : public DocumentView {
    Q_OBJECT
public:
    explicit MemoryView(Document* document, QWidget* parent = nullptr);
    ~MemoryView() override;
    QSize sizeHint() const override;
    TimelineChart* chart() const { return m_chart; }
    FitList* fitList() const { return m_fit; }
    const MemoryTimeline& timeline() const { return m_timeline; }

Q_SIGNALS:
    void refused(const QString& message);

protected:
    void refresh() override;
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    struct LegendRow {
        std::size_t cause = 0; ///< index into memoryCauses()
        QLabel* swatch = nullptr;
        QLabel* name = nullptr;
        QLabel* value = nullptr;
    };
    void buildLayout();
    void showVerdict();
    void showStages();
    void showTimeline();
    void makeLegend(const std::vector<std::size_t>& causes);
    void placeLegend();
    void showMoment(int moment);
    void chooseMoment(int moment);
    QString momentName(const MemoryMoment& moment) const;
    double limitBytes() const;

    StackedBar* m_bar;
    FitList* m_fit;
    TimelineChart* m_chart;
    ChoiceBox* m_stage;
    QLabel* m_verdict;
    QLabel* m_summary;
    ElidedLabel* m_moment;
    QLabel* m_empty;
    QWidget* m_body;
    QWidget* m_left;
    QWidget* m_legend;
    QGridLayout* m_rows;
    std::vector<LegendRow> m_legendRows;
    int m_legendColumns = 0;
    MemoryTimeline m_timeline;
    bool m_stale = false; ///< the timeline is of an earlier evaluation; made when it is seen
};

} // namespace shardboard
