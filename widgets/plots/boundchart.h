// SPDX-License-Identifier: Apache-2.0
// The best answer of a search and the bound that none can pass, over time; between them, hatched, what is not known yet. Values are
// plain numbers; the view names the units.
#pragma once

#include "widgets/plots/plotlook.h"

#include <QString>
#include <QWidget>

#include <memory>
#include <vector>

namespace shardboard {

struct BoundMoment {
    double time = 0;
    double best = 0; ///< NaN: none yet
    double bound = 0; ///< NaN: none
};

struct BoundContent {
    std::vector<BoundMoment> moments; ///< by time
    double now = 0;
    double until = 0; ///< end of the axis, at least `now`
    bool running = false;
    QString valueName;
    QString timeName;
    QString bestText; ///< at the end of the line
    QString boundText;
    QString gapText; ///< large
    QString gapDetail;
};

class BoundChart : public QWidget {
    Q_OBJECT
public:
    explicit BoundChart(QWidget* parent = nullptr);
    ~BoundChart() override;
    void setContent(BoundContent content, const PlotLook& look);
    const BoundContent& content() const { return m_content; }
    QSize sizeHint() const override { return { 330, 220 }; }
    QSize minimumSizeHint() const override { return { 160, 90 }; }

private:
    void makePlot();
    struct Plot;
    std::unique_ptr<Plot> m_plot;
    BoundContent m_content;
    PlotLook m_look;
};

} // namespace shardboard
