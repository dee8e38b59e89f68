// SPDX-License-Identifier: Apache-2.0
#include "widgets/plots/sweepchart.h"

#include "widgets/plots/plotaxes.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace shardboard {

struct SweepChart::Plot {
    VectorPlot* widget = nullptr; // owned by the Qt tree
};

SweepChart::SweepChart(QWidget* parent)
    : QWidget(parent)
    , m_plot(std::make_unique<Plot>())
{
    m_plot->widget = new VectorPlot(this, [this] { makePlot(); });
    m_plot->widget->setFocusPolicy(Qt::NoFocus);
    m_plot->widget->setMouseTracking(true);
    m_plot->widget->installEventFilter(this);
    setFocusPolicy(Qt::StrongFocus);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_plot->widget);
}

SweepChart::~SweepChart() = default;

void SweepChart::setContent(SweepContent content, const PlotLook& look)
{
    m_content = std::move(content);
    m_look = look;
    if (m_current >= static_cast<int>(m_content.points.size()))
        m_current = -1;
    m_plot->widget->drawAnew();
}

void SweepChart::makePlot()
{
    VectorPlot& plot = *m_plot->widget;
    plot.clearPlottables();
    plot.clearItems();
    plots::styleAxes(plot, m_look, font());
    plot.xAxis->setScaleType(QCPAxis::stLogarithmic);
    plot.xAxis->grid()->setVisible(false);
    plot.xAxis->setLabel(m_content.xName);
    plot.yAxis->setLabel(m_content.yName);
    plots::styleNumbers(plot.yAxis, 4);
    QVector<double> xs;
    QVector<double> ys;
    QVector<double> overX;
    QVector<double> overY;
    double high = m_content.limit;
    for (const SweepChartPoint& point : m_content.points) {
        xs.append(point.x);
        ys.append(point.y);
        if (!std::isfinite(point.y))
            continue;
        high = m_content.limit > 0 ? std::max(high, std::min(point.y, 2.5 * m_content.limit)) : std::max(high, point.y);
        if (point.faded) {
            overX.append(point.x);
            overY.append(point.y);
        }
    }
    const double first = xs.isEmpty() ? 1 : xs.first();
    const double last = xs.isEmpty() ? 2 : xs.last();
    const double room = std::pow(std::max(last / first, 1.5), 0.06);
    plot.xAxis->setRange(first / room, last * room);
    plot.yAxis->setRange(0, std::max(high * 1.15, 1e-12));
    // As many names as there is room for, at even distances.
    const auto ticker = QSharedPointer<QCPAxisTickerText>::create();
    double widest = 1;
    for (const SweepChartPoint& point : m_content.points)
        widest = std::max(widest, QFontMetricsF(font()).horizontalAdvance(point.name) + 10.0);
    const auto most = std::max(1, static_cast<int>(std::max(60, width() - 60) / widest));
    const auto distance =
        std::max<std::size_t>(1, (m_content.points.size() + static_cast<std::size_t>(most) - 1) / static_cast<std::size_t>(most));
    for (std::size_t i = 0; i < m_content.points.size(); i += distance)
        ticker->addTick(m_content.points[i].x, m_content.points[i].name);
    plot.xAxis->setTicker(ticker);
    if (m_content.limit > 0)
        plots::addLine(plot, QPen(m_look.over, 1.8, Qt::DashLine), plot.xAxis->range().lower, m_content.limit,
                       plot.xAxis->range().upper, m_content.limit);
    QCPGraph* line = plot.addGraph();
    line->setPen(QPen(m_look.accent, 2));
    line->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, m_look.accent, m_look.accent, 6));
    line->setData(xs, ys, true);
    QCPGraph* over = plot.addGraph(); // hollow: color is not alone
    over->setLineStyle(QCPGraph::lsNone);
    over->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(m_look.over, 1.5), QBrush(m_look.background), 7));
    over->setData(overX, overY, true);
    if (m_current >= 0) {
        const SweepChartPoint& point = m_content.points[static_cast<std::size_t>(m_current)];
        const QCPRange values = plot.yAxis->range();
        plots::addLine(plot, QPen(m_look.text, 1, Qt::DotLine), point.x, values.lower, point.x, values.upper);
    }
}

void SweepChart::setCurrent(int point)
{
    if (point < 0 || point >= static_cast<int>(m_content.points.size()))
        point = -1;
    if (point == m_current)
        return;
    m_current = point;
    m_plot->widget->drawAnew();
    Q_EMIT currentChanged(point);
}

bool SweepChart::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::MouseMove && !m_content.points.empty()) {
        const double x = static_cast<QMouseEvent*>(event)->position().x();
        int nearest = 0;
        for (std::size_t i = 0; i < m_content.points.size(); ++i) {
            const auto away = [&](std::size_t at) {
                return std::abs(m_plot->widget->xAxis->coordToPixel(m_content.points[at].x) - x);
            };
            if (away(i) < away(static_cast<std::size_t>(nearest)))
                nearest = static_cast<int>(i);
        }
        setCurrent(nearest);
    } else if (event->type() == QEvent::Leave) {
        setCurrent(-1);
    } else if (event->type() == QEvent::MouseButtonPress) {
        setFocus(Qt::MouseFocusReason);
    }
    return QWidget::eventFilter(watched, event);
}

void SweepChart::keyPressEvent(QKeyEvent* event)
{
    const int last = static_cast<int>(m_content.points.size()) - 1;
    if (event->key() == Qt::Key_Left)
        setCurrent(std::max(0, m_current < 0 ? last : m_current - 1));
    else if (event->key() == Qt::Key_Right)
        setCurrent(std::min(last, m_current + 1));
    else
        QWidget::keyPressEvent(event);
}

void SweepChart::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    setCurrent(-1);
}

} // namespace shardboard
