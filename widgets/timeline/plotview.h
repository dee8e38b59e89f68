// SPDX-License-Identifier: Apache-2.0
// A plot of what the timeline shows, with its legend. A point selects its operation or collective everywhere, and what is selected
// elsewhere has a ring here.
#pragma once

#include "model/io/plots/scalingplot.h"
#include "model/plots/plot.h"
#include "widgets/document/documentview.h"

#include <memory>
#include <vector>

class QLabel;
class QToolButton;

namespace shardboard {

class LatestJob;
class Legend;
class TimelineSource;
class ViewHeader;
class XyPlot;

class PlotView : public DocumentView {
    Q_OBJECT
public:
    enum class Kind { Roofline, Bandwidth, Accuracy, Memory, Scaling };
    PlotView(Kind kind, Document* document, TimelineSource* source, QWidget* parent = nullptr);

    Kind kind() const { return m_kind; }
    XyPlot* chart() const { return m_chart; }
    const Plot& plot() const;
    /// As it is saved: with title and legend, and in a size of its own, however narrow it stands in the window.
    std::unique_ptr<QWidget> picture() const;
    /// Of Kind::Scaling: runs on meshes of any size, of the same model.
    void setRuns(std::vector<ScaledRun> runs);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void saveWanted(); ///< as a picture or a table

protected:
    void refresh() override;
    void selectionChanged() override;

private:
    void show(Plot plot);
    void askForScaling();
    Plot made() const;
    void makeLegend();
    QString emptyText() const;
    QString noteText() const;

    Kind m_kind;
    TimelineSource* m_source;
    LatestJob* m_job;
    std::vector<ScaledRun> m_runs;
    std::shared_ptr<const Evaluation> m_scaled; ///< that the scaling is of, or is asked for
    ViewHeader* m_header;
    QToolButton* m_save;
    XyPlot* m_chart;
    Legend* m_legend;
    QLabel* m_notes;
    QLabel* m_empty;
};

} // namespace shardboard
