// SPDX-License-Identifier: Apache-2.0
// Memory of the devices: whether it fits, by cause on each stage of a pipeline, and over the operations of a step. The legend
// names every cause; unticked ones are left out of the bars and the chart.
#pragma once

#include "model/plan/memory/timeline.h"
#include "widgets/document/documentview.h"

#include <set>
#include <vector>

class QCheckBox;
class QGridLayout;
class QLabel;
class QVBoxLayout;

namespace shardboard {

class ChoiceBox;
class DeviceBars;
class ElidedLabel;
class FitList;
class Swatch;
class TimelineChart;
struct TimelineTick;

class MemoryView : public DocumentView {
    Q_OBJECT
public:
    explicit MemoryView(Document* document, QWidget* parent = nullptr);
    ~MemoryView() override;
    QSize sizeHint() const override;
    TimelineChart* chart() const { return m_chart; }
    DeviceBars* bars() const { return m_bars; }
    FitList* fitList() const { return m_fit; }
    const MemoryTimeline& timeline() const { return m_timeline; }

Q_SIGNALS:
    void refused(const QString& message);

protected:
    void refresh() override;
    void hoverChanged() override;
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    struct LegendRow {
        std::size_t cause = 0; ///< index into memoryCauses()
        Swatch* swatch = nullptr;
        QCheckBox* name = nullptr;
        QLabel* value = nullptr;
    };
    void buildLayout();
    void showVerdict();
    void showStages();
    void showTimeline();
    void makeLegend(const std::vector<std::size_t>& causes);
    void placeLegend();
    void placeSummary();
    void showBars(const std::vector<std::size_t>& causes);
    void chooseStage(int stage);
    void setCauseShown(std::size_t cause, bool shown);
    void showMoment(int moment);
    void chooseMoment(int moment);
    std::vector<TimelineTick> ticks() const;
    QString momentName(const MemoryMoment& moment) const;
    double limitBytes() const;

    DeviceBars* m_bars;
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
    std::set<std::size_t> m_hidden; ///< causes that are left out
    std::shared_ptr<const Evaluation> m_timelineOf; ///< what m_timeline was made of
    MemoryTimeline m_timeline;
    bool m_stale = false; ///< the timeline is of an earlier evaluation; made when it is seen
};

} // namespace shardboard
