// SPDX-License-Identifier: Apache-2.0
// One value over another one that doubles from point to point: a line with a mark at each point, maybe under a limit. Values are
// plain numbers; the view names the units.
#pragma once

#include "widgets/plots/plotlook.h"

#include <QString>
#include <QWidget>

#include <memory>
#include <vector>

namespace shardboard {

struct SweepChartPoint {
    double x = 0;
    double y = 0; ///< NaN: nothing is known there
    bool faded = false; ///< over a limit
    QString name; ///< at the axis
};

struct SweepContent {
    std::vector<SweepChartPoint> points; ///< by rising x
    double limit = 0; ///< of y; 0: none
    QString xName;
    QString yName;
};

class SweepChart : public QWidget {
    Q_OBJECT
public:
    explicit SweepChart(QWidget* parent = nullptr);
    ~SweepChart() override;
    void setContent(SweepContent content, const PlotLook& look);
    const SweepContent& content() const { return m_content; }
    /// The point that is marked, -1 for none: under the mouse, gone to by keys, or as somebody else says.
    int current() const { return m_current; }
    void setCurrent(int point);
    QSize sizeHint() const override { return { 260, 200 }; }
    QSize minimumSizeHint() const override { return { 120, 90 }; }

Q_SIGNALS:
    void currentChanged(int point);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    void makePlot();
    struct Plot;
    std::unique_ptr<Plot> m_plot;
    SweepContent m_content;
    PlotLook m_look;
    int m_current = -1;
};

} // namespace shardboard
