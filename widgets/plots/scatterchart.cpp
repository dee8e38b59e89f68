// SPDX-License-Identifier: Apache-2.0
#include "widgets/plots/scatterchart.h"

#include "widgets/plots/plotaxes.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace shardboard {

namespace {

constexpr double kReach = 9; ///< pixels from a point at which it is meant
constexpr double kLimitReach = 4;
constexpr double kFarX = 3; ///< times the least of what fits: what takes longer is beyond the edge
constexpr double kFarY = 6; ///< times the limit
constexpr int kCell = 3; ///< pixels: of points of a kind in one such square, one is painted

QCPScatterStyle::ScatterShape shapeOf(int mark)
{
    constexpr QCPScatterStyle::ScatterShape kShapes[kScatterMarks] { QCPScatterStyle::ssDisc, QCPScatterStyle::ssTriangle,
                                                                     QCPScatterStyle::ssSquare, QCPScatterStyle::ssDiamond,
                                                                     QCPScatterStyle::ssCross };
    return kShapes[mark % kScatterMarks];
}

} // namespace

struct ScatterChart::Plot {
    VectorPlot* widget = nullptr; // owned by the Qt tree
    QCPItemEllipse* ring = nullptr; // owned by the plot
};

ScatterChart::ScatterChart(QWidget* parent)
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

ScatterChart::~ScatterChart() = default;

void ScatterChart::setContent(ScatterContent content, const PlotLook& look)
{
    m_content = std::move(content);
    m_look = look;
    if (m_current >= static_cast<int>(m_content.points.size()))
        m_current = -1;
    m_plot->widget->drawAnew();
}

void ScatterChart::setRanges()
{
    constexpr double kNone = std::numeric_limits<double>::infinity();
    double least = kNone; // of what fits, or else of all
    double left = kNone;
    double right = 0;
    double low = kNone;
    double high = 0;
    for (const ScatterPoint& point : m_content.points)
        if (!point.faded)
            least = std::min(least, point.x);
    const double far = least < kNone ? least * kFarX : kNone;
    const double top = m_content.limit > 0 ? m_content.limit * kFarY : kNone;
    const auto see = [&](double x, double y) {
        left = std::min(left, x);
        right = std::max(right, x);
        low = std::min(low, y);
        high = std::max(high, y);
    };
    for (const ScatterPoint& point : m_content.points)
        if (point.x > 0 && point.y > 0 && (point.front || (point.x <= far && point.y <= top)))
            see(point.x, point.y);
    for (const ScatterFlag& flag : m_content.flags)
        see(flag.x, flag.y);
    if (!(left <= right)) {
        left = 0;
        right = low = 1;
        high = 10;
    }
    if (m_content.limit > 0) {
        low = std::min(low, m_content.limit);
        high = std::max(high, m_content.limit);
    }
    const double room = std::max((right - left) * 0.06, right * 0.02);
    m_plot->widget->xAxis->setRange(std::max(0.0, left - room), right + room);
    m_plot->widget->yAxis->setRange(low / 1.25, high * 1.35);
}

bool ScatterChart::isInside(const ScatterPoint& point) const
{
    return m_plot->widget->xAxis->range().contains(point.x) && m_plot->widget->yAxis->range().contains(point.y);
}

void ScatterChart::makePlot()
{
    VectorPlot& plot = *m_plot->widget;
    plot.clearPlottables();
    plot.clearItems();
    m_plot->ring = nullptr;
    plots::styleAxes(plot, m_look, font());
    plot.setNotAntialiasedElements(QCP::aeScatters);
    plot.yAxis->setScaleType(QCPAxis::stLogarithmic);
    setRanges();
    plots::styleNumbers(plot.xAxis, 6);
    plot.yAxis->setTicker(plots::decadeTicks(plot.yAxis->range().lower, plot.yAxis->range().upper));
    plot.xAxis->setLabel(m_content.xName);
    plot.yAxis->setLabel(m_content.yName);
    addLimit();
    addPoints();
    addFront();
    addFlags();
    showRing();
    QMetaObject::invokeMethod(this, &ScatterChart::plotted, Qt::QueuedConnection);
}

/// Of many points on one spot one is enough.
void ScatterChart::addPoints()
{
    VectorPlot& plot = *m_plot->widget;
    m_beyond = 0;
    std::set<std::tuple<int, int, int>> seen;
    const std::size_t kinds = m_content.kinds.size();
    std::vector<QVector<double>> xs(kinds * 2);
    std::vector<QVector<double>> ys(kinds * 2);
    for (const ScatterPoint& point : m_content.points) {
        if (!isInside(point)) {
            ++m_beyond;
            continue;
        }
        const std::size_t of = static_cast<std::size_t>(point.kind) * 2 + (point.faded ? 1 : 0);
        const int column = static_cast<int>(plot.xAxis->coordToPixel(point.x)) / kCell;
        const int row = static_cast<int>(plot.yAxis->coordToPixel(point.y)) / kCell;
        if (of >= xs.size() || !seen.emplace(static_cast<int>(of), column, row).second)
            continue;
        xs[of].append(point.x);
        ys[of].append(point.y);
    }
    for (const bool faded : { true, false })
        for (std::size_t kind = 0; kind < kinds; ++kind) {
            const std::size_t of = kind * 2 + (faded ? 1 : 0);
            if (xs[of].isEmpty())
                continue;
            QColor color = m_content.kinds[kind].color;
            color.setAlphaF(faded ? 0.35F : 1.0F);
            QCPGraph* graph = plot.addGraph();
            graph->setLineStyle(QCPGraph::lsNone);
            graph->setScatterStyle(QCPScatterStyle(shapeOf(m_content.kinds[kind].mark), QPen(color, 1.2), QBrush(color), 6.5));
            graph->setData(xs[of], ys[of]);
        }
}

void ScatterChart::addFront()
{
    VectorPlot& plot = *m_plot->widget;
    std::vector<const ScatterPoint*> front;
    for (const ScatterPoint& point : m_content.points)
        if (point.front)
            front.push_back(&point);
    std::sort(front.begin(), front.end(), [](const auto* a, const auto* b) { return a->x < b->x; });
    QVector<double> xs;
    QVector<double> ys;
    for (const ScatterPoint* point : front)
        if (ys.isEmpty() || point->y < ys.last()) {
            xs.append(point->x);
            ys.append(point->y);
        }
    if (xs.isEmpty())
        return;
    QCPGraph* graph = plot.addGraph();
    graph->setLineStyle(QCPGraph::lsStepLeft);
    graph->setPen(QPen(m_look.strong, 1.5));
    graph->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(m_look.strong, 1.5), Qt::NoBrush, 8.5));
    graph->setData(xs, ys, true);
    QCPItemText* label = plots::addText(plot, tr("Pareto front"), font(), m_look.strong);
    label->setBrush(QBrush(m_look.background));
    const bool right = xs.last() > plot.xAxis->range().center();
    label->setPositionAlignment((right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignTop);
    label->position->setCoords(xs.last(), ys.last());
    label->setPadding(QMargins(6, 7, 6, 1));
}

void ScatterChart::addLimit()
{
    const double limit = m_dragging ? m_dragged : m_content.limit;
    if (limit <= 0)
        return;
    VectorPlot& plot = *m_plot->widget;
    const QCPRange across = plot.xAxis->range();
    QColor hatch = m_look.over;
    hatch.setAlphaF(0.22F);
    auto* ground = new QCPItemRect(&plot);
    ground->setPen(Qt::NoPen);
    ground->setBrush(QBrush(hatch, Qt::BDiagPattern));
    ground->topLeft->setCoords(across.lower, plot.yAxis->range().upper);
    ground->bottomRight->setCoords(across.upper, limit);
    plots::addLine(plot, QPen(m_look.over, 1.8, Qt::DashLine), across.lower, limit, across.upper, limit);
    QCPItemText* label = plots::addText(plot, m_content.limitText, font(), m_look.over);
    label->setBrush(QBrush(m_look.background));
    label->setPositionAlignment(Qt::AlignRight | Qt::AlignBottom);
    label->position->setCoords(across.upper, limit);
}

void ScatterChart::addFlags()
{
    VectorPlot& plot = *m_plot->widget;
    for (const ScatterFlag& flag : m_content.flags) {
        const double x = plot.xAxis->coordToPixel(flag.x);
        const double y = plot.yAxis->coordToPixel(flag.y);
        auto* ring = new QCPItemEllipse(&plot);
        ring->setPen(QPen(m_look.strong, 2.2));
        ring->topLeft->setPixelPosition({ x - 7, y - 7 });
        ring->bottomRight->setPixelPosition({ x + 7, y + 7 });
        QFont bold = font();
        bold.setBold(true);
        QCPItemText* label = plots::addText(plot, flag.letter + QLatin1Char(' ') + flag.text, bold, m_look.strong);
        label->setBrush(QBrush(m_look.background));
        label->setPen(QPen(m_look.strong, 1));
        const bool right = flag.x > plot.xAxis->range().center();
        const bool below = flag.letter.startsWith(QLatin1Char('A')); // two at one place do not hide each other
        label->setPositionAlignment((right ? Qt::AlignRight : Qt::AlignLeft) | (below ? Qt::AlignTop : Qt::AlignBottom));
        label->position->setPixelPosition({ right ? x - 12 : x + 12, below ? y + 9 : y - 9 });
    }
}

void ScatterChart::showRing()
{
    const bool shown = m_current >= 0 && isInside(m_content.points[static_cast<std::size_t>(m_current)]);
    if (!shown && m_plot->ring == nullptr)
        return;
    if (m_plot->ring == nullptr) {
        m_plot->ring = new QCPItemEllipse(m_plot->widget);
        m_plot->ring->setPen(QPen(m_look.accent, 2));
    }
    m_plot->ring->setVisible(shown);
    if (!shown)
        return;
    const QPointF at = placeOf(m_current);
    m_plot->ring->topLeft->setPixelPosition(at - QPointF(6.5, 6.5));
    m_plot->ring->bottomRight->setPixelPosition(at + QPointF(6.5, 6.5));
}

void ScatterChart::setCurrent(int point)
{
    if (point < 0 || point >= static_cast<int>(m_content.points.size()))
        point = -1;
    if (point == m_current)
        return;
    m_current = point;
    m_plot->widget->drawAnew();
    Q_EMIT currentChanged(point);
}

QPointF ScatterChart::placeOf(int point) const
{
    const ScatterPoint& at = m_content.points[static_cast<std::size_t>(point)];
    return { m_plot->widget->xAxis->coordToPixel(at.x), m_plot->widget->yAxis->coordToPixel(at.y) };
}

int ScatterChart::pointAt(const QPointF& at) const
{
    int nearest = -1;
    double distance = kReach;
    for (std::size_t i = 0; i < m_content.points.size(); ++i) {
        const ScatterPoint& point = m_content.points[i];
        if (!isInside(point))
            continue;
        const QPointF off = placeOf(static_cast<int>(i)) - at;
        // Of several as near, one of the front is meant.
        const double away = std::hypot(off.x(), off.y()) - (point.front ? 2 : 0);
        if (away < distance) {
            distance = away;
            nearest = static_cast<int>(i);
        }
    }
    return nearest;
}

double ScatterChart::limitPlace() const
{
    return m_content.limit > 0 ? m_plot->widget->yAxis->coordToPixel(m_dragging ? m_dragged : m_content.limit) : -1;
}

bool ScatterChart::eventFilter(QObject* watched, QEvent* event)
{
    switch (event->type()) {
    case QEvent::MouseMove: {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        if (m_dragging) {
            m_dragged = m_plot->widget->yAxis->pixelToCoord(mouse->position().y());
            m_plot->widget->drawAnew();
            break;
        }
        const int point = pointAt(mouse->position());
        const bool onLimit = point < 0 && m_content.limit > 0 && std::abs(mouse->position().y() - limitPlace()) <= kLimitReach;
        m_plot->widget->setCursor(onLimit ? Qt::SizeVerCursor : point >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
        setCurrent(point);
        break;
    }
    case QEvent::MouseButtonPress: {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        setFocus(Qt::MouseFocusReason);
        if (mouse->button() != Qt::LeftButton)
            break;
        if (const int point = pointAt(mouse->position()); point >= 0) {
            setCurrent(point);
            Q_EMIT chosen(point, mouse->modifiers());
        } else if (m_content.limit > 0 && std::abs(mouse->position().y() - limitPlace()) <= kLimitReach) {
            m_dragging = true;
            m_dragged = m_content.limit;
        }
        break;
    }
    case QEvent::MouseButtonRelease:
        if (std::exchange(m_dragging, false) && m_dragged > 0 && m_dragged != m_content.limit)
            Q_EMIT limitDragged(m_dragged);
        break;
    case QEvent::MouseButtonDblClick:
        if (static_cast<QMouseEvent*>(event)->button() == Qt::LeftButton)
            if (const int point = pointAt(static_cast<QMouseEvent*>(event)->position()); point >= 0)
                Q_EMIT activated(point);
        break;
    case QEvent::Leave:
        if (!m_dragging)
            setCurrent(-1);
        break;
    default:
        break;
    }
    return QWidget::eventFilter(watched, event);
}

void ScatterChart::leaveEvent(QEvent* event)
{
    QWidget::leaveEvent(event);
    if (!m_dragging)
        setCurrent(-1);
}

/// Along the front, or, where there is none, through all points by rising x.
void ScatterChart::step(bool forward)
{
    std::vector<int> order;
    for (std::size_t i = 0; i < m_content.points.size(); ++i)
        if (m_content.points[i].front)
            order.push_back(static_cast<int>(i));
    if (order.empty())
        for (std::size_t i = 0; i < m_content.points.size(); ++i)
            order.push_back(static_cast<int>(i));
    if (order.empty())
        return;
    std::stable_sort(order.begin(), order.end(), [this](int a, int b) {
        return m_content.points[static_cast<std::size_t>(a)].x < m_content.points[static_cast<std::size_t>(b)].x;
    });
    const auto at = std::find(order.begin(), order.end(), m_current);
    if (at == order.end())
        setCurrent(forward ? order.front() : order.back());
    else if (forward ? at + 1 != order.end() : at != order.begin())
        setCurrent(forward ? *(at + 1) : *(at - 1));
}

void ScatterChart::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right:
        step(event->key() == Qt::Key_Right);
        return;
    case Qt::Key_Space:
        if (m_current >= 0)
            Q_EMIT chosen(m_current, event->modifiers());
        return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (m_current >= 0)
            Q_EMIT activated(m_current);
        return;
    case Qt::Key_Escape:
        if (m_dragging || m_current >= 0) {
            m_dragging = false;
            setCurrent(-1);
            m_plot->widget->drawAnew();
            return;
        }
        break;
    default:
        break;
    }
    QWidget::keyPressEvent(event);
}

void ScatterChart::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    setCurrent(-1);
}

} // namespace shardboard
