// SPDX-License-Identifier: Apache-2.0
#include "widgets/plots/boundchart.h"

#include "widgets/plots/plotaxes.h"

#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardboard {

struct BoundChart::Plot {
    VectorPlot* widget = nullptr; // owned by the Qt tree
};

BoundChart::BoundChart(QWidget* parent)
    : QWidget(parent)
    , m_plot(std::make_unique<Plot>())
{
    m_plot->widget = new VectorPlot(this, [this] { makePlot(); });
    m_plot->widget->setFocusPolicy(Qt::NoFocus);
    m_plot->widget->setAttribute(Qt::WA_TransparentForMouseEvents);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_plot->widget);
}

BoundChart::~BoundChart() = default;

void BoundChart::setContent(BoundContent content, const PlotLook& look)
{
    m_content = std::move(content);
    m_look = look;
    m_plot->widget->drawAnew();
}

void BoundChart::makePlot()
{
    VectorPlot& plot = *m_plot->widget;
    plot.clearPlottables();
    plot.clearItems();
    plots::styleAxes(plot, m_look, font());
    QVector<double> times;
    QVector<double> best;
    QVector<double> bounds;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    const auto see = [&](double value) {
        if (std::isfinite(value)) {
            low = std::min(low, value);
            high = std::max(high, value);
        }
    };
    for (const BoundMoment& moment : m_content.moments) {
        times.append(moment.time);
        best.append(moment.best);
        bounds.append(moment.bound);
        see(moment.best);
        see(moment.bound);
    }
    if (!times.isEmpty() && times.last() < m_content.now) {
        times.append(m_content.now);
        best.append(best.last());
        bounds.append(bounds.last());
    }
    if (!(low <= high)) {
        low = 0;
        high = 1;
    }
    const double span = std::max(high - low, std::max(std::abs(high) * 0.02, 1e-12));
    plot.xAxis->setRange(0, std::max({ m_content.until, m_content.now, 1e-3 }));
    plot.yAxis->setRange(low - 0.12 * span, high + 0.3 * span);
    plot.yAxis->setLabel(m_content.valueName);
    plot.xAxis->setLabel(m_content.timeName);
    plots::styleNumbers(plot.yAxis, 4);
    plots::styleNumbers(plot.xAxis, 4);

    QCPGraph* lower = plot.addGraph();
    lower->setLineStyle(QCPGraph::lsStepLeft);
    lower->setPen(QPen(m_look.text, 1.5, Qt::DashLine));
    lower->setData(times, bounds, true);
    QCPGraph* upper = plot.addGraph();
    upper->setLineStyle(QCPGraph::lsStepLeft);
    upper->setPen(QPen(m_look.accent, 2));
    upper->setBrush(QBrush(m_look.text, Qt::BDiagPattern));
    upper->setData(times, best, true);
    upper->setChannelFillGraph(lower);
    if (std::none_of(bounds.begin(), bounds.end(), [](double bound) { return std::isfinite(bound); }))
        upper->setBrush(Qt::NoBrush);

    const QCPRange values = plot.yAxis->range();
    if (m_content.running)
        plots::addLine(plot, QPen(m_look.text, 1, Qt::DotLine), m_content.now, values.lower, m_content.now, values.upper);
    const bool right = m_content.now > plot.xAxis->range().upper * 0.5;
    const Qt::Alignment side = right ? Qt::AlignRight : Qt::AlignLeft;
    const auto name = [&](const QString& text, double value, const QColor& color, Qt::Alignment where) {
        if (text.isEmpty() || !std::isfinite(value))
            return;
        QFont bold = font();
        bold.setBold(color == m_look.accent);
        QCPItemText* label = plots::addText(plot, text, bold, color);
        label->setBrush(QBrush(m_look.background));
        label->setPositionAlignment(side | where);
        label->position->setCoords(m_content.now, value);
    };
    if (!best.isEmpty()) {
        name(m_content.bestText, best.last(), m_look.accent, Qt::AlignBottom);
        name(m_content.boundText, bounds.last(), m_look.text, Qt::AlignTop);
    }
    QFont large = font();
    large.setBold(true);
    large.setPointSizeF(large.pointSizeF() + 2);
    QCPItemText* gap = plots::addText(plot, m_content.gapText, large, m_look.strong);
    gap->position->setType(QCPItemPosition::ptAxisRectRatio);
    gap->setPositionAlignment(Qt::AlignRight | Qt::AlignTop);
    gap->position->setCoords(1, 0);
    QCPItemText* detail = plots::addText(plot, m_content.gapDetail, font(), m_look.text);
    detail->position->setType(QCPItemPosition::ptAxisRectRatio);
    detail->setPositionAlignment(Qt::AlignRight | Qt::AlignTop);
    detail->position->setCoords(1, 0);
    detail->setPadding(QMargins(4, 2 + QFontMetrics(large).height(), 4, 0));
}

} // namespace shardboard
