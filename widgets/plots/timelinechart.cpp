// SPDX-License-Identifier: Apache-2.0
#include "widgets/plots/timelinechart.h"

#include "widgets/plots/vectorplot.h"

#include <QKeyEvent>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace shardboard {

struct TimelineChart::Plot {
    VectorPlot* widget = nullptr; // owned by the Qt tree
    QCPItemLine* pointer = nullptr; // owned by the plot
};

TimelineChart::TimelineChart(QWidget* parent)
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

TimelineChart::~TimelineChart() = default;

QSize TimelineChart::sizeHint() const { return { 420, 170 }; }
QSize TimelineChart::minimumSizeHint() const { return { 180, 90 }; }

void TimelineChart::setParts(std::vector<TimelinePart> parts, double limit, int highest, std::vector<TimelineMark> marks,
                             TimelineAxes axes, const TimelineLook& look)
{
    m_content = { std::move(parts), limit, std::move(marks), std::move(axes), look };
    m_made = {};
    m_count = m_content.parts.empty() ? 0 : static_cast<int>(m_content.parts.front().values.size());
    m_highest = highest;
    m_current = -1;
    m_plot->widget->drawAnew();
}

void TimelineChart::makePlot()
{
    if (m_made == size())
        return;
    m_made = size();
    const auto& [parts, limit, marks, axes, look] = m_content;
    const int highest = m_highest;
    VectorPlot& plot = *m_plot->widget;
    plot.clearPlottables();
    plot.clearItems();
    m_plot->pointer = nullptr;
    plot.setBackground(QBrush(look.background));
    // Each part is a graph of the sum up to it, filled down to the sum below; a moment is a step of width 1.
    std::vector<double> sums(static_cast<std::size_t>(m_count), 0);
    QCPGraph* below = nullptr;
    for (const TimelinePart& part : parts) {
        QVector<double> keys;
        QVector<double> values;
        for (std::size_t i = 0; i < sums.size(); ++i) {
            sums[i] += part.values[i];
            keys.append(static_cast<double>(i));
            values.append(sums[i]);
        }
        if (!sums.empty()) { // the last moment has a width too
            keys.append(static_cast<double>(sums.size()));
            values.append(sums.back());
        }
        QCPGraph* graph = plot.addGraph();
        graph->setLineStyle(QCPGraph::lsStepLeft);
        graph->setAntialiased(false);
        graph->setAntialiasedFill(false);
        graph->setPen(Qt::NoPen);
        graph->setBrush(QBrush(part.color));
        graph->setData(keys, values, true);
        if (below)
            graph->setChannelFillGraph(below);
        if (part.hatch != Qt::NoBrush) {
            QCPGraph* hatched = plot.addGraph();
            hatched->setLineStyle(QCPGraph::lsStepLeft);
            hatched->setPen(Qt::NoPen);
            hatched->setBrush(QBrush(part.hatchColor, part.hatch));
            hatched->setData(keys, values, true);
            if (below)
                hatched->setChannelFillGraph(below);
        }
        below = graph;
    }
    double top = 0;
    for (const double sum : sums)
        top = std::max(top, sum);
    // A limit far above would press everything down; its number stands in the verdict.
    const bool showsLimit = limit > 0 && limit <= 2.2 * std::max(top, 1e-9);
    for (QCPAxis* axis : { plot.xAxis, plot.yAxis }) {
        axis->setBasePen(QPen(look.line));
        axis->setTickPen(QPen(look.line));
        axis->setSubTickPen(Qt::NoPen);
        axis->setTickLabelColor(look.text);
        axis->setLabelColor(look.text);
        axis->setTickLabelFont(font());
        axis->setLabelFont(font());
        axis->grid()->setVisible(axis == plot.yAxis);
        axis->grid()->setPen(QPen(look.line, 0, Qt::DotLine));
        axis->grid()->setZeroLinePen(Qt::NoPen);
    }
    plot.yAxis->setLabel(axes.value);
    plot.yAxis->ticker()->setTickCount(4);
    plot.xAxis->setRange(0, std::max(1, m_count));
    placeTicks();
    // Above the highest moment stand the word for it and the phases, each in a line of its own.
    const double words = 2.4 * QFontMetricsF(font()).height() / std::max(60.0, height() - 2.6 * QFontMetricsF(font()).height());
    const double free = std::clamp(1 / (1 - std::min(words, 0.5)), 1.32, 2.0);
    plot.yAxis->setRange(0, std::max({ top * free, showsLimit ? limit * 1.26 : 0.0, 1e-9 }));
    const double ceiling = plot.yAxis->range().upper;
    const double pixels = std::max(60.0, width() - 60.0) / std::max(1, m_count); // of a moment
    double taken = 0; // by words, from the left
    for (const TimelineMark& mark : marks) {
        if (mark.moment > 0) {
            auto* line = new QCPItemLine(&plot);
            line->setPen(QPen(look.line, 1));
            line->start->setCoords(mark.moment, 0);
            line->end->setCoords(mark.moment, ceiling);
        }
        const bool narrow = mark.moment > m_count * 85 / 100; // no room at its right
        const double wide = QFontMetricsF(font()).horizontalAdvance(mark.text) + 8;
        const double from = mark.moment * pixels - (narrow ? wide : 0);
        if (from < taken)
            continue; // beside the one before
        taken = from + wide;
        auto* label = new QCPItemText(&plot);
        label->setText(mark.text);
        label->setFont(font());
        label->setColor(look.text);
        label->setPositionAlignment((narrow ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignTop);
        label->setPadding(QMargins(4, 1, 4, 1));
        label->position->setCoords(mark.moment, ceiling);
    }
    if (showsLimit) {
        auto* line = new QCPItemLine(&plot);
        line->setPen(QPen(top > limit ? look.over : look.text, 2, Qt::DashLine));
        line->start->setCoords(0, limit);
        line->end->setCoords(m_count, limit);
    }
    if (highest >= 0 && highest < m_count) {
        auto* line = new QCPItemLine(&plot);
        line->setPen(QPen(top > limit && limit > 0 ? look.over : look.text, 1, Qt::SolidLine));
        const double value = sums[static_cast<std::size_t>(highest)];
        line->start->setCoords(highest + 0.5, value);
        line->end->setCoords(highest + 0.5, value + 0.05 * ceiling);
        line->setTail(QCPLineEnding::esSpikeArrow);
        auto* label = new QCPItemText(&plot);
        label->setText(tr("peak"));
        label->setFont(font());
        label->setColor(top > limit && limit > 0 ? look.over : look.text);
        label->setPadding(QMargins(4, 0, 4, 1));
        label->setBrush(QBrush(look.background));
        const bool right = highest > m_count * 9 / 10;
        label->setPositionAlignment((right                        ? Qt::AlignRight
                                         : highest < m_count / 10 ? Qt::AlignLeft
                                                                  : Qt::AlignHCenter)
                                    | Qt::AlignBottom);
        label->position->setCoords(highest + 0.5, value + 0.04 * ceiling);
    }
    showPointer();
}

std::vector<const TimelineTick*> TimelineChart::placedTicks() const
{
    const TimelineAxes& axes = m_content.axes;
    constexpr double kSides = 70; // what the other axis takes
    constexpr double kGap = 10;
    const QFontMetricsF metrics { font() };
    const double moment = std::max(60.0, width() - kSides) / std::max(1, m_count); // pixels
    std::vector<double> half; // of each text: to measure them is what takes time
    for (const TimelineTick& tick : axes.ticks)
        half.push_back(metrics.horizontalAdvance(tick.text) / 2);
    const auto apart = [&](std::size_t a, std::size_t b) {
        return std::abs(axes.ticks[a].moment - axes.ticks[b].moment) * moment >= half[a] + half[b] + kGap;
    };
    // The smallest even distance at which no numbers touch.
    std::vector<std::size_t> told;
    std::int64_t distance = 1;
    for (bool fits = false; !fits && distance < 1'000'000; distance *= 2) {
        told.clear();
        fits = true;
        for (std::size_t i = 0; i < axes.ticks.size(); ++i) {
            const TimelineTick& tick = axes.ticks[i];
            if (tick.number < 0 || tick.number % distance != 0)
                continue;
            if (told.empty() || apart(told.back(), i))
                told.push_back(i);
            else if (axes.ticks[told.back()].number
                     != tick.number) // the same layer once more, where a phase ends and the next begins
                fits = false;
        }
    }
    for (std::size_t i = 0; i < axes.ticks.size(); ++i)
        if (axes.ticks[i].number < 0 && std::all_of(told.begin(), told.end(), [&](std::size_t other) { return apart(other, i); }))
            told.push_back(i);
    std::vector<const TimelineTick*> out;
    for (const std::size_t i : told)
        out.push_back(&axes.ticks[i]);
    std::sort(out.begin(), out.end(), [](const auto* one, const auto* other) { return one->moment < other->moment; });
    return out;
}

void TimelineChart::placeTicks()
{
    const auto ticker = QSharedPointer<QCPAxisTickerText>::create();
    for (const TimelineTick* tick : placedTicks())
        ticker->addTick(tick->moment + 0.5, tick->text);
    QCPAxis* axis = m_plot->widget->xAxis;
    axis->setTicker(ticker);
    axis->setTickLabels(true);
    axis->setTicks(true);
    axis->setTickLength(0, 3);
    axis->setSubTicks(false);
    axis->setLabel(m_content.axes.moment);
    axis->setLabelPadding(1);
    axis->setTickLabelPadding(2);
}

QStringList TimelineChart::momentTexts() const
{
    QStringList out;
    for (const TimelineTick* tick : placedTicks())
        out << tick->text;
    return out << m_content.axes.moment;
}

void TimelineChart::setCurrent(int moment)
{
    moment = moment < 0 || moment >= m_count ? -1 : moment;
    if (moment == m_current)
        return;
    m_current = moment;
    showPointer();
    m_plot->widget->drawAnew();
    Q_EMIT currentChanged(m_current);
}

void TimelineChart::showPointer()
{
    VectorPlot& plot = *m_plot->widget;
    if (m_current < 0 && !m_plot->pointer)
        return;
    if (!m_plot->pointer) {
        m_plot->pointer = new QCPItemLine(&plot);
        m_plot->pointer->setPen(QPen(m_content.look.text, 1));
    }
    m_plot->pointer->setVisible(m_current >= 0);
    m_plot->pointer->start->setCoords(m_current + 0.5, 0);
    m_plot->pointer->end->setCoords(m_current + 0.5, plot.yAxis->range().upper);
}

int TimelineChart::momentAt(double x) const
{
    const double key = m_plot->widget->xAxis->pixelToCoord(x);
    return key < 0 || key >= m_count ? -1 : static_cast<int>(std::floor(key));
}

bool TimelineChart::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::MouseMove) {
        setCurrent(momentAt(static_cast<QMouseEvent*>(event)->position().x()));
    } else if (event->type() == QEvent::Leave) {
        setCurrent(-1);
    } else if (event->type() == QEvent::MouseButtonPress) {
        setFocus(Qt::MouseFocusReason);
        if (const int moment = momentAt(static_cast<QMouseEvent*>(event)->position().x()); moment >= 0)
            Q_EMIT chosen(moment);
    }
    return QWidget::eventFilter(watched, event);
}

void TimelineChart::keyPressEvent(QKeyEvent* event)
{
    const int from = m_current < 0 ? m_highest : m_current;
    switch (event->key()) {
    case Qt::Key_Left:
        setCurrent(std::max(0, from - 1));
        return;
    case Qt::Key_Right:
        setCurrent(std::min(m_count - 1, from + 1));
        return;
    case Qt::Key_Home:
        setCurrent(0);
        return;
    case Qt::Key_End:
        setCurrent(m_count - 1);
        return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (from >= 0 && from < m_count)
            Q_EMIT chosen(from);
        return;
    default:
        QWidget::keyPressEvent(event);
    }
}

void TimelineChart::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    if (event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason)
        setCurrent(m_highest);
}

void TimelineChart::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    setCurrent(-1);
}

} // namespace shardboard
