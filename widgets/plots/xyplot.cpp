// SPDX-License-Identifier: Apache-2.0
#include "widgets/plots/xyplot.h"

#include "widgets/look/format.h"
#include "widgets/plots/vectorplot.h"

#include <QKeyEvent>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace shardboard {

namespace {

constexpr double kReach = 24; ///< pixels within which the mouse takes a point
constexpr int kMark = 7;

QCPScatterStyle scatterOf(PlotMark mark, const QColor& color, bool hollow, double size)
{
    const auto shape = [mark] {
        switch (mark) {
        case PlotMark::Circle:
            return QCPScatterStyle::ssCircle;
        case PlotMark::Square:
            return QCPScatterStyle::ssSquare;
        case PlotMark::Triangle:
            return QCPScatterStyle::ssTriangle;
        case PlotMark::Diamond:
            return QCPScatterStyle::ssDiamond;
        case PlotMark::None:
            break;
        }
        return QCPScatterStyle::ssNone;
    };
    return { shape(), QPen(color, 1.3), hollow ? QBrush(Qt::NoBrush) : QBrush(color), size };
}

QString text(const std::string& from) { return qstr(from); }

} // namespace

struct XyPlot::Parts {
    VectorPlot* widget = nullptr; // owned by the Qt tree
    QCPItemEllipse* ring = nullptr; // these are owned by the plot
    QCPItemLine* across = nullptr;
    QCPItemLine* down = nullptr;
    QCPItemText* words = nullptr;
};

XyPlot::XyPlot(QWidget* parent)
    : QWidget(parent)
    , m_parts(std::make_unique<Parts>())
{
    m_parts->widget = new VectorPlot(this, [this] { makePlot(); });
    m_parts->widget->setFocusPolicy(Qt::NoFocus);
    m_parts->widget->setMouseTracking(true);
    m_parts->widget->installEventFilter(this);
    setFocusPolicy(Qt::StrongFocus);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_parts->widget);
}

XyPlot::~XyPlot() = default;

QSize XyPlot::sizeHint() const { return { 260, 240 }; }
QSize XyPlot::minimumSizeHint() const { return { 120, 90 }; }

bool XyPlot::setPlot(Plot plot, const XyLook& look)
{
    if (plot == m_plot && look == m_look) // after edits that change nothing of it, which are many
        return false;
    m_plot = std::move(plot);
    m_look = look;
    m_x = plotRange(m_plot, false);
    m_y = plotRange(m_plot, true);
    m_current = {};
    setToolTip({});
    m_made = false;
    m_parts->widget->drawAnew();
    return true;
}

void XyPlot::setShownHue(int hue)
{
    if (hue == m_hue)
        return;
    m_hue = hue;
    m_made = false;
    m_parts->widget->drawAnew();
}

void XyPlot::setSelectedItem(std::int32_t item)
{
    if (item == m_item)
        return;
    m_item = item;
    m_made = false;
    m_parts->widget->drawAnew();
}

QColor XyPlot::hueOf(int hue) const
{
    return hue < 0 || m_look.hues.empty() ? m_look.quiet : m_look.hues[static_cast<std::size_t>(hue) % m_look.hues.size()];
}

QColor XyPlot::colorOf(const PlotSeries& series) const
{
    QColor out = series.hue < 0 ? (series.dashed ? m_look.quiet : m_look.text) : hueOf(series.hue);
    if (m_hue > -2 && series.hue >= 0 && series.hue != m_hue)
        out.setAlphaF(0.2F);
    return out;
}

void XyPlot::makePlot()
{
    if (m_made)
        return;
    m_made = true;
    VectorPlot& plot = *m_parts->widget;
    plot.clearPlottables();
    plot.clearItems();
    *m_parts = { m_parts->widget, nullptr, nullptr, nullptr, nullptr };
    plot.setBackground(QBrush(m_look.background));
    const auto axis = [&](QCPAxis* of, const PlotAxis& what, const PlotRange& range) {
        of->setScaleType(what.logarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
        of->setRange(range.from, range.to);
        of->setBasePen(QPen(m_look.line));
        of->setTickPen(QPen(m_look.line));
        of->setSubTicks(false);
        of->setTickLength(0, 3);
        of->setTickLabelColor(m_look.quiet);
        of->setLabelColor(m_look.quiet);
        of->setTickLabelFont(font());
        of->setLabelFont(font());
        of->setLabelPadding(2);
        of->setTickLabelPadding(3);
        of->grid()->setPen(QPen(m_look.line, 0, Qt::DotLine));
        of->grid()->setZeroLinePen(Qt::NoPen);
    };
    axis(plot.xAxis, m_plot.x, m_x);
    axis(plot.yAxis, m_plot.y, m_y);
    placeTicks();
    QCPGraph* below = nullptr;
    for (const PlotSeries& one : m_plot.series) {
        QVector<double> xs;
        QVector<double> ys;
        for (const PlotPoint& point : one.points) {
            xs.append(point.x);
            ys.append(point.y);
        }
        const QColor color = colorOf(one);
        QCPGraph* graph = plot.addGraph();
        graph->setData(xs, ys, true);
        if (one.mark == PlotMark::None) {
            graph->setLineStyle(one.steps ? QCPGraph::lsStepLeft : QCPGraph::lsLine);
            graph->setPen(one.filled ? QPen(Qt::NoPen)
                                     : QPen(color, one.dashed ? 1.2 : 1.6, one.dashed ? Qt::DashLine : Qt::SolidLine));
            if (one.filled) {
                graph->setBrush(QBrush(color));
                if (below != nullptr)
                    graph->setChannelFillGraph(below);
                below = graph;
            }
        } else {
            graph->setLineStyle(QCPGraph::lsNone);
            graph->setScatterStyle(scatterOf(one.mark, color, one.hollow, kMark));
        }
    }
    for (const PlotSeries& one : m_plot.series)
        for (const PlotPoint& point : one.points)
            if (m_item >= 0 && point.item == m_item) {
                QCPGraph* ring = plot.addGraph();
                ring->setLineStyle(QCPGraph::lsNone);
                ring->setScatterStyle({ QCPScatterStyle::ssCircle, QPen(m_look.accent, 2), QBrush(Qt::NoBrush), kMark + 7.0 });
                ring->setData(QVector<double> { point.x }, QVector<double> { point.y });
            }
    showCursor();
}

void XyPlot::placeTicks()
{
    VectorPlot& plot = *m_parts->widget;
    const QFontMetrics metrics(font());
    const auto set = [](QCPAxis* axis, const std::vector<PlotTick>& ticks) {
        const auto ticker = QSharedPointer<QCPAxisTickerText>::create();
        for (const PlotTick& tick : ticks)
            ticker->addTick(tick.value, text(tick.text));
        axis->setTicker(ticker);
    };
    const int tall = height() - 3 * metrics.height();
    std::vector<PlotTick> ys = plotTicks(m_plot.y, m_y, std::clamp(tall / (2 * metrics.height()), 2, 8));
    int side = 0;
    for (const PlotTick& tick : ys)
        side = std::max(side, metrics.horizontalAdvance(text(tick.text)));
    const int wide = width() - side - 3 * metrics.height();
    int most = 8;
    std::vector<PlotTick> xs;
    for (; most >= 2; --most) { // as many as fit beside each other
        xs = plotTicks(m_plot.x, m_x, most);
        int widest = 0;
        for (const PlotTick& tick : xs)
            widest = std::max(widest, metrics.horizontalAdvance(text(tick.text)) + metrics.averageCharWidth() * 2);
        if (widest * static_cast<int>(xs.size()) <= wide)
            break;
    }
    // Ticks of a logarithmic axis lie unevenly, and two may be too many: those that have room stay.
    const auto placed = [](double value, const PlotAxis& axis, const PlotRange& range) {
        return axis.logarithmic ? std::log(value / range.from) / std::log(range.to / range.from)
                                : (value - range.from) / (range.to - range.from);
    };
    const auto thin = [](std::vector<PlotTick>& ticks, const auto& middleOf, const auto& sizeOf, double gap) {
        double end = -std::numeric_limits<double>::infinity();
        std::erase_if(ticks, [&](const PlotTick& tick) {
            const double half = sizeOf(tick) / 2.0;
            if (middleOf(tick) - half < end + gap)
                return true;
            end = middleOf(tick) + half;
            return false;
        });
    };
    thin(
        xs, [&](const PlotTick& tick) { return placed(tick.value, m_plot.x, m_x) * wide; },
        [&](const PlotTick& tick) { return metrics.horizontalAdvance(text(tick.text)); }, metrics.averageCharWidth());
    thin(
        ys, [&](const PlotTick& tick) { return placed(tick.value, m_plot.y, m_y) * tall; },
        [&](const PlotTick&) { return metrics.height(); }, 2);
    const auto title = [&](QCPAxis* axis, const PlotAxis& of, int room) { // the tool tip of a point has the units, too
        const QString all = text(of.title);
        axis->setLabel(metrics.horizontalAdvance(all) <= room ? all : QString());
    };
    title(plot.xAxis, m_plot.x, wide);
    title(plot.yAxis, m_plot.y, tall);
    set(plot.xAxis, xs);
    set(plot.yAxis, ys);
}

XyPlot::At XyPlot::nearest(const QPointF& place) const
{
    At out;
    double best = kReach * kReach;
    for (const bool marks : { true, false }) { // a point that was measured before the line behind it
        for (std::size_t i = 0; i < m_plot.series.size(); ++i) {
            const PlotSeries& one = m_plot.series[i];
            if ((one.mark != PlotMark::None) != marks)
                continue;
            for (std::size_t j = 0; j < one.points.size(); ++j) {
                const At at { static_cast<int>(i), static_cast<int>(j) };
                const QPointF away = placeOf(at) - place;
                if (const double far = QPointF::dotProduct(away, away); far < best) {
                    best = far;
                    out = at;
                }
            }
        }
        if (out.valid())
            return out;
    }
    return out;
}

QPointF XyPlot::placeOf(At at) const
{
    if (!at.valid())
        return {};
    const PlotPoint& point = m_plot.series[static_cast<std::size_t>(at.series)].points[static_cast<std::size_t>(at.point)];
    return { m_parts->widget->xAxis->coordToPixel(point.x), m_parts->widget->yAxis->coordToPixel(point.y) };
}

QString XyPlot::currentText() const
{
    if (!m_current.valid())
        return {};
    const PlotSeries& one = m_plot.series[static_cast<std::size_t>(m_current.series)];
    const PlotPoint& point = one.points[static_cast<std::size_t>(m_current.point)];
    return text(one.name) + QLatin1Char('\n')
        + (point.what.empty()
               ? text(plotValue(m_plot.x.unit, point.x)) + QStringLiteral(", ") + text(plotValue(m_plot.y.unit, point.y))
               : text(point.what));
}

void XyPlot::setCurrent(At at)
{
    if (at == m_current)
        return;
    m_current = at;
    if (m_made)
        showCursor();
    m_parts->widget->drawAnew();
    setToolTip(currentText());
    Q_EMIT currentChanged();
}

void XyPlot::showCursor()
{
    VectorPlot& plot = *m_parts->widget;
    if (!m_current.valid() && m_parts->words == nullptr)
        return;
    if (m_parts->words == nullptr) {
        m_parts->across = new QCPItemLine(&plot);
        m_parts->down = new QCPItemLine(&plot);
        m_parts->words = new QCPItemText(&plot);
        for (QCPItemLine* line : { m_parts->across, m_parts->down })
            line->setPen(QPen(m_look.accent, 1, Qt::DotLine));
        m_parts->words->setFont(font());
        m_parts->words->setColor(m_look.text);
        m_parts->words->setBrush(QBrush(m_look.background));
        m_parts->words->setPen(QPen(m_look.line));
        m_parts->words->setPadding(QMargins(5, 3, 5, 3));
        m_parts->words->setTextAlignment(Qt::AlignLeft);
    }
    for (QCPAbstractItem* item : { static_cast<QCPAbstractItem*>(m_parts->across), static_cast<QCPAbstractItem*>(m_parts->down),
                                   static_cast<QCPAbstractItem*>(m_parts->words) })
        item->setVisible(m_current.valid());
    if (!m_current.valid())
        return;
    const PlotPoint& point =
        m_plot.series[static_cast<std::size_t>(m_current.series)].points[static_cast<std::size_t>(m_current.point)];
    m_parts->across->start->setCoords(plot.xAxis->range().lower, point.y);
    m_parts->across->end->setCoords(point.x, point.y);
    m_parts->down->start->setCoords(point.x, plot.yAxis->range().lower);
    m_parts->down->end->setCoords(point.x, point.y);
    // Within the picture, on the side that has room.
    const QFontMetrics metrics(font());
    QStringList lines;
    for (const QString& line : currentText().split(QLatin1Char('\n')))
        lines << metrics.elidedText(line, Qt::ElideMiddle, std::max(80, width() - 24));
    m_parts->words->setText(lines.join(QLatin1Char('\n')));
    int wide = 0;
    for (const QString& line : lines)
        wide = std::max(wide, metrics.horizontalAdvance(line) + 12);
    const int high = static_cast<int>(lines.size()) * metrics.lineSpacing() + 8;
    const QPointF place = placeOf(m_current);
    const double left = std::clamp(place.x() + 10, 0.0, std::max(0.0, width() - wide - 2.0));
    const double top = place.y() - high - 8 >= 0 ? place.y() - high - 8 : std::min(place.y() + 10, height() - high - 2.0);
    m_parts->words->setPositionAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_parts->words->position->setType(QCPItemPosition::ptAbsolute);
    m_parts->words->position->setCoords(left, top);
}

bool XyPlot::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::MouseMove) {
        setCurrent(nearest(static_cast<QMouseEvent*>(event)->position()));
    } else if (event->type() == QEvent::Leave) {
        setCurrent({});
    } else if (event->type() == QEvent::MouseButtonPress) {
        setFocus(Qt::MouseFocusReason);
        if (const At at = nearest(static_cast<QMouseEvent*>(event)->position()); at.valid())
            Q_EMIT chosen(m_plot.series[static_cast<std::size_t>(at.series)].points[static_cast<std::size_t>(at.point)].item);
    }
    return QWidget::eventFilter(watched, event);
}

/// Left and Right along a series, Up and Down to others.
void XyPlot::keyPressEvent(QKeyEvent* event)
{
    const int count = static_cast<int>(m_plot.series.size());
    const auto size = [this](int series) {
        return static_cast<int>(m_plot.series[static_cast<std::size_t>(series)].points.size());
    };
    At at = m_current;
    const int key = event->key();
    const bool arrow = key == Qt::Key_Left || key == Qt::Key_Right || key == Qt::Key_Up || key == Qt::Key_Down;
    if (arrow && !at.valid()) {
        for (int i = count - 1; i >= 0 && !at.valid(); --i) // what was measured is drawn last
            if (size(i) > 0)
                at = { i, 0 };
        setCurrent(at);
        return;
    }
    switch (key) {
    case Qt::Key_Left:
        at.point = std::max(0, at.point - 1);
        break;
    case Qt::Key_Right:
        at.point = std::min(size(at.series) - 1, at.point + 1);
        break;
    case Qt::Key_Up:
    case Qt::Key_Down:
        for (int i = 1; i <= count; ++i) {
            const int other = ((at.series + (key == Qt::Key_Down ? i : -i)) % count + count) % count;
            if (size(other) > 0) {
                at = { other, std::min(at.point, size(other) - 1) };
                break;
            }
        }
        break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (at.valid())
            Q_EMIT chosen(m_plot.series[static_cast<std::size_t>(at.series)].points[static_cast<std::size_t>(at.point)].item);
        return;
    default:
        QWidget::keyPressEvent(event);
        return;
    }
    setCurrent(at);
}

/// Who comes by keyboard sees where: at the first point.
void XyPlot::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    if (event->reason() != Qt::TabFocusReason && event->reason() != Qt::BacktabFocusReason)
        return;
    for (std::size_t i = 0; i < m_plot.series.size(); ++i)
        if (!m_plot.series[i].points.empty())
            return setCurrent({ static_cast<int>(i), 0 });
}

void XyPlot::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    setCurrent({});
}

void XyPlot::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::FontChange) {
        m_made = false;
        m_parts->widget->drawAnew();
    }
    QWidget::changeEvent(event);
}

void XyPlot::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    m_made = false;
    m_parts->widget->drawAnew();
}

} // namespace shardboard
