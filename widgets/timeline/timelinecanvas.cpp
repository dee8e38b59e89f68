// SPDX-License-Identifier: Apache-2.0
#include "widgets/timeline/timelinecanvas.h"

#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"
#include "widgets/timeline/intervalinks.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <QStatusTipEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

// Pixels; those that hold text grow with it.
constexpr double kPredicted = 7;
constexpr double kMeasured = 14;
constexpr double kAlone = 15; ///< a lane that has no other beside it
constexpr double kLink = 9; ///< of a link, below what the device does
constexpr double kRowGap = 4;
constexpr double kGroupGap = 6;
constexpr double kHit = 3; ///< so far beside a narrow interval it is still pointed at
constexpr double kWheelFactor = 1.0015; ///< to the power of an eighth of a degree
constexpr double kLeastSecondsPerPixel = 1e-10;
constexpr double kLargeError = 0.15; ///< from this error on it is marked

/// `+4.4 %`; of a prediction for another machine, `× 719`.
QString errorOf(double share)
{
    if (share >= 10)
        return QStringLiteral("× ") + digitsText(share + 1);
    const QString text = percentText(std::abs(share));
    return share < 0 ? QStringLiteral("−") + text : QStringLiteral("+") + text;
}

/// In the hue that the cause has in the view of memory, too.
QColor memoryColor(const std::string& cause)
{
    const auto causes = memoryCauses();
    const auto it = std::find_if(causes.begin(), causes.end(), [&](const MemoryCause& one) { return cause == one.name; });
    return partColor(it == causes.end() ? 0 : it - causes.begin()).fill;
}

} // namespace

struct TimelineCanvas::Ink {
    const Theme& theme;
    QFont font;
    QFont small;
    QFontMetricsF metrics;
    QFontMetricsF smallMetrics;

    explicit Ink(const QWidget* widget)
        : theme(Theme::of(widget))
        , font(widget->font())
        , small(uiFont(widget, -1.5))
        , metrics(font)
        , smallMetrics(small)
    {
    }
};

TimelineCanvas::TimelineCanvas(QWidget* parent)
    : QWidget(parent)
    , m_scroll(new QScrollBar(Qt::Vertical, this))
{
    setObjectName(QStringLiteral("timelineCanvas"));
    setAccessibleName(tr("Timeline"));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    m_scroll->setObjectName(QStringLiteral("timelineScroll"));
    m_scroll->setFocusPolicy(Qt::NoFocus);
    m_scroll->hide();
    connect(m_scroll, &QScrollBar::valueChanged, this, [this] {
        m_base = QPixmap();
        update();
    });
}

QSize TimelineCanvas::sizeHint() const { return { 900, 260 }; }
QSize TimelineCanvas::minimumSizeHint() const { return { 240, 110 }; }

void TimelineCanvas::setTimeline(std::shared_ptr<const Timeline> timeline, bool keepWindow)
{
    const bool same = keepWindow && m_timeline && timeline && m_timeline->seconds == timeline->seconds;
    m_timeline = std::move(timeline);
    m_sums.clear();
    m_totals.clear();
    m_selected.clear();
    m_current = {};
    m_item = -1;
    if (m_timeline) {
        for (const Lane& lane : m_timeline->lanes)
            m_sums.emplace_back(lane);
        for (const MemoryLane& lane : m_timeline->memory) {
            m_totals.emplace_back();
            m_totals.back().reserve(lane.times.size());
            for (std::size_t i = 0; i < lane.times.size(); ++i)
                m_totals.back().push_back(lane.total(i));
        }
    }
    makeRows();
    layOut();
    if (!same)
        showAll();
    moved();
}

/// A predicted and a measured lane of one group are one row.
void TimelineCanvas::makeRows()
{
    m_rows.clear();
    if (!m_timeline)
        return;
    const std::vector<Lane>& lanes = m_timeline->lanes;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        Row row;
        const bool pair =
            i + 1 < lanes.size() && lanes[i].predicted && !lanes[i + 1].predicted && lanes[i].group == lanes[i + 1].group;
        row.predicted = pair ? static_cast<std::ptrdiff_t>(i) : -1;
        row.lane = static_cast<std::ptrdiff_t>(pair ? i + 1 : i);
        const Lane& lane = lanes[static_cast<std::size_t>(row.lane)];
        row.first = m_rows.empty() || lanes[static_cast<std::size_t>(m_rows.back().lane)].group != lane.group;
        row.group = qstr(lane.group).section(QStringLiteral(" ("), 0, 0); // where in the mesh is told by the tool tip
        row.name = pair || lane.nested ? QString() : qstr(lane.name);
        const bool main = row.first || !lane.predicted;
        row.height = pair ? kPredicted + 1 + kMeasured : main ? kAlone : kLink;
        if (pair) {
            const auto busy = [](const Lane& one) { return one.intervals.empty() ? 0.0 : one.intervals.back().end(); };
            const double predicted = busy(lanes[i]);
            const double error = predicted > 0 ? busy(lane) / predicted - 1 : 0;
            row.error = predicted > 0 ? errorOf(error) : QString();
            row.attention = std::abs(error) > kLargeError;
            ++i;
        }
        m_rows.push_back(std::move(row));
    }
}

double TimelineCanvas::contentHeight() const { return m_rows.empty() ? 0 : m_rows.back().y + m_rows.back().height + kRowGap; }

void TimelineCanvas::layOut()
{
    const double least = QFontMetricsF(uiFont(this, -1)).height(); // labels do not touch
    double y = 2;
    for (Row& row : m_rows) {
        if (row.first && &row != &m_rows.front())
            y += kGroupGap;
        row.y = y;
        const bool labelled = row.first || !row.name.isEmpty();
        y += std::max(row.height, labelled ? least : 0.0) + (labelled ? kRowGap : 1);
    }
    const QRectF area = lanesArea();
    const int more = static_cast<int>(std::ceil(contentHeight() - area.height()));
    m_scroll->setVisible(more > 0);
    m_scroll->setRange(0, std::max(0, more));
    m_scroll->setPageStep(std::max(1, static_cast<int>(area.height())));
    m_scroll->setSingleStep(20);
    const int wide = m_scroll->sizeHint().width();
    m_scroll->setGeometry(width() - wide, static_cast<int>(area.top()), wide, static_cast<int>(area.height()));
    const int before = m_window.width;
    m_window.width = std::max(1, static_cast<int>(area.width()));
    if (before > 1 && before != m_window.width)
        m_window.secondsPerPixel *= static_cast<double>(before) / m_window.width;
}

QRectF TimelineCanvas::lanesArea() const
{
    const Ink ink(this);
    const double label = std::clamp(0.15 * width(), 14 * ink.metrics.averageCharWidth(), 30 * ink.metrics.averageCharWidth());
    const double top = ink.smallMetrics.height() + 10;
    const double bottom = m_timeline && !m_timeline->memory.empty() ? std::clamp(0.3 * height(), 44.0, 130.0) : 0;
    const double right = m_scroll->sizeHint().width() + 2;
    return { label, top, std::max(20.0, width() - label - right), std::max(20.0, height() - top - bottom) };
}

QRectF TimelineCanvas::memoryArea() const
{
    if (!m_timeline || m_timeline->memory.empty())
        return {};
    const QRectF lanes = lanesArea();
    return { lanes.left(), lanes.bottom() + 8, lanes.width(), std::max(10.0, height() - lanes.bottom() - 12) };
}

double TimelineCanvas::rowTop(const Row& row) const
{
    return lanesArea().top() + row.y - (m_scroll->isHidden() ? 0 : m_scroll->value());
}

QRectF TimelineCanvas::stripOf(const Row& row, bool predicted) const
{
    const QRectF area = lanesArea();
    const double top = rowTop(row);
    if (row.predicted < 0)
        return { area.left(), top, area.width(), row.height };
    return predicted ? QRectF(area.left(), top, area.width(), kPredicted)
                     : QRectF(area.left(), top + kPredicted + 1, area.width(), kMeasured);
}

int TimelineCanvas::rowOfLane(std::size_t lane) const
{
    const auto index = static_cast<std::ptrdiff_t>(lane);
    const auto it =
        std::find_if(m_rows.begin(), m_rows.end(), [&](const Row& row) { return row.lane == index || row.predicted == index; });
    return it == m_rows.end() ? -1 : static_cast<int>(it - m_rows.begin());
}

QRectF TimelineCanvas::rectOf(std::size_t lane, std::size_t interval) const
{
    const int row = rowOfLane(lane);
    if (row < 0)
        return {};
    const Row& at = m_rows[static_cast<std::size_t>(row)];
    const LaneInterval& it = m_timeline->lanes[lane].intervals[interval];
    const QRectF area = lanesArea();
    const QRectF strip = stripOf(at, at.predicted == static_cast<std::ptrdiff_t>(lane));
    const double left = area.left() + m_window.pixelOf(it.start);
    const double right = area.left() + m_window.pixelOf(it.end());
    return QRectF(left, strip.top(), std::max(1.0, right - left), strip.height()).intersected(area);
}

// Moving in time.

void TimelineCanvas::moved()
{
    m_base = QPixmap();
    update();
}

void TimelineCanvas::setWindow(double from, double secondsPerPixel)
{
    const double all = m_timeline ? m_timeline->seconds : 1;
    const double widest = all > 0 ? 1.02 * all / m_window.width : 1;
    m_window.secondsPerPixel = std::clamp(secondsPerPixel, std::min(kLeastSecondsPerPixel, widest), widest);
    const double seen = m_window.secondsPerPixel * m_window.width;
    const double margin = 0.01 * seen;
    m_window.from = std::clamp(from, -margin, std::max(-margin, all - seen + margin));
    moved();
}

void TimelineCanvas::showAll()
{
    const double all = m_timeline && m_timeline->seconds > 0 ? m_timeline->seconds : 1;
    setWindow(-0.01 * all, 1.02 * all / m_window.width);
}

void TimelineCanvas::zoomAt(double pixel, double factor)
{
    const double time = m_window.timeAt(pixel);
    setWindow(m_window.from, m_window.secondsPerPixel / factor);
    setWindow(time - pixel * m_window.secondsPerPixel, m_window.secondsPerPixel);
}

/// At the pointer where it is over the lanes, else in the middle.
void TimelineCanvas::zoom(double factor)
{
    const QRectF area = lanesArea();
    zoomAt(area.contains(m_hover) ? m_hover.x() - area.left() : 0.5 * m_window.width, factor);
}

void TimelineCanvas::pan(double pixels) { setWindow(m_window.from - pixels * m_window.secondsPerPixel, m_window.secondsPerPixel); }

void TimelineCanvas::showSelected()
{
    double from = 0;
    double to = 0;
    if (m_current.interval >= 0) {
        const LaneInterval& it = m_timeline->lanes[m_current.lane].intervals[static_cast<std::size_t>(m_current.interval)];
        from = it.start;
        to = it.end();
    } else {
        bool found = false;
        for (std::size_t lane = 0; lane < m_selected.size(); ++lane)
            if (!m_selected[lane].empty()) {
                const auto& intervals = m_timeline->lanes[lane].intervals;
                const double first = intervals[m_selected[lane].front()].start;
                const double last = intervals[m_selected[lane].back()].end();
                from = found ? std::min(from, first) : first;
                to = found ? std::max(to, last) : last;
                found = true;
            }
        if (!found)
            return showAll();
    }
    const double seconds = std::max(to - from, 1e-9);
    setWindow(from - seconds, 3 * seconds / m_window.width);
}

void TimelineCanvas::showItem(std::int32_t item)
{
    setSelectedItem(item);
    // What was measured before what was predicted.
    for (const bool predicted : { false, true })
        for (std::size_t lane = 0; lane < m_selected.size(); ++lane) {
            if (m_selected[lane].empty() || m_timeline->lanes[lane].predicted != predicted)
                continue;
            choose({ rowOfLane(lane), lane, static_cast<std::ptrdiff_t>(m_selected[lane].front()) }, false);
            revealCurrent();
            return;
        }
}

/// In the middle, and wide enough to be seen.
void TimelineCanvas::revealCurrent()
{
    if (m_current.row < 0)
        return;
    const Row& row = m_rows[static_cast<std::size_t>(m_current.row)];
    if (!m_scroll->isHidden()) {
        const double height = lanesArea().height();
        if (row.y < m_scroll->value())
            m_scroll->setValue(static_cast<int>(row.y) - 4);
        else if (row.y + row.height > m_scroll->value() + height)
            m_scroll->setValue(static_cast<int>(std::ceil(row.y + row.height - height)) + 4);
    }
    if (m_current.interval < 0)
        return;
    const LaneInterval& it = m_timeline->lanes[m_current.lane].intervals[static_cast<std::size_t>(m_current.interval)];
    constexpr double kWide = 24;
    const double scale = std::min(m_window.secondsPerPixel, std::max(it.seconds / kWide, kLeastSecondsPerPixel));
    const bool seen = it.start >= m_window.from && it.end() <= m_window.to();
    if (seen && scale == m_window.secondsPerPixel)
        return;
    setWindow(0.5 * (it.start + it.end()) - 0.5 * scale * m_window.width, scale);
}

// What is selected.

void TimelineCanvas::setSelectedItem(std::int32_t item)
{
    if (!m_timeline || (item == m_item && !m_selected.empty()))
        return;
    m_item = item;
    m_selected.assign(m_timeline->lanes.size(), {});
    if (item >= 0)
        for (std::size_t lane = 0; lane < m_timeline->lanes.size(); ++lane) {
            const auto& intervals = m_timeline->lanes[lane].intervals;
            for (std::size_t i = 0; i < intervals.size(); ++i)
                if (intervals[i].item == item)
                    m_selected[lane].push_back(static_cast<std::uint32_t>(i));
        }
    if (m_current.interval >= 0) {
        const auto& intervals = m_timeline->lanes[m_current.lane].intervals;
        if (intervals[static_cast<std::size_t>(m_current.interval)].item != item && item >= 0)
            m_current.interval = -1;
    }
    moved();
}

void TimelineCanvas::setFaded(bool faded)
{
    if (faded == m_faded)
        return;
    m_faded = faded;
    moved();
}

void TimelineCanvas::setShownKind(int kind)
{
    m_kind = kind;
    moved();
}

TimelineCanvas::Place TimelineCanvas::placeAt(const QPointF& point) const
{
    Place out;
    const QRectF area = lanesArea();
    if (!m_timeline || point.y() < area.top() || point.y() > area.bottom())
        return out;
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        const Row& row = m_rows[i];
        const double top = rowTop(row);
        const double next = i + 1 < m_rows.size() ? rowTop(m_rows[i + 1]) : top + row.height + kRowGap;
        if (point.y() < top || point.y() >= next)
            continue;
        out.row = static_cast<int>(i);
        const bool above = row.predicted >= 0 && point.y() < top + kPredicted + 0.5;
        out.lane = static_cast<std::size_t>(above ? row.predicted : row.lane);
        if (area.contains(point))
            out.interval =
                intervalAt(m_timeline->lanes[out.lane], m_window.timeAt(point.x() - area.left()), kHit * m_window.secondsPerPixel);
        return out;
    }
    return out;
}

void TimelineCanvas::choose(const Place& place, bool tell)
{
    m_current = place;
    const LaneInterval* it =
        place.interval < 0 ? nullptr : &m_timeline->lanes[place.lane].intervals[static_cast<std::size_t>(place.interval)];
    if (it != nullptr && tell) {
        setSelectedItem(it->item);
        m_current = place;
        Q_EMIT itemChosen(it->item);
    }
    reportCurrent(this);
    if (place.row >= 0) {
        QStatusTipEvent tip(textOf(place).replace(QLatin1Char('\n'), QStringLiteral(" · ")));
        QApplication::sendEvent(this, &tip);
    }
    moved();
}

void TimelineCanvas::moveAlong(int by)
{
    if (m_rows.empty())
        return;
    if (m_current.row < 0)
        m_current = { 0, static_cast<std::size_t>(m_rows.front().lane), -1 };
    const auto& intervals = m_timeline->lanes[m_current.lane].intervals;
    const auto count = static_cast<std::ptrdiff_t>(intervals.size());
    if (count == 0)
        return;
    std::ptrdiff_t to = m_current.interval + by;
    if (m_current.interval < 0)
        to = std::max<std::ptrdiff_t>(
            0,
            intervalAt(m_timeline->lanes[m_current.lane], m_window.from + 0.01 * m_window.secondsPerPixel * m_window.width, 1e300));
    choose({ m_current.row, m_current.lane, std::clamp<std::ptrdiff_t>(to, 0, count - 1) }, true);
    revealCurrent();
}

void TimelineCanvas::moveRow(int by)
{
    if (m_rows.empty())
        return;
    const int last = rowCount() - 1;
    const int row = m_current.row < 0 ? 0 : std::clamp(m_current.row + by, 0, last);
    double time = m_window.timeAt(0.5 * m_window.width);
    if (m_current.interval >= 0) {
        const LaneInterval& it = m_timeline->lanes[m_current.lane].intervals[static_cast<std::size_t>(m_current.interval)];
        time = 0.5 * (it.start + it.end());
    }
    const auto lane = static_cast<std::size_t>(m_rows[static_cast<std::size_t>(row)].lane);
    choose({ row, lane, intervalAt(m_timeline->lanes[lane], time, 1e300) }, true);
    revealCurrent();
}

QString TimelineCanvas::textOf(const Place& place) const
{
    if (!m_timeline || place.row < 0)
        return {};
    const Lane& lane = m_timeline->lanes[place.lane];
    const QString where = qstr(lane.group) + QStringLiteral(", ") + qstr(lane.name);
    if (place.interval < 0)
        return where;
    const LaneInterval& it = lane.intervals[static_cast<std::size_t>(place.interval)];
    QStringList lines { qstr(m_timeline->nameOf(it)) };
    QString kind = qstr(intervalKindName(it.kind));
    if (it.item >= 0)
        kind = tr("%1, %2").arg(qstr(m_timeline->items[static_cast<std::size_t>(it.item)].kind), kind);
    if (it.kind != IntervalKind::Other)
        lines << (lane.predicted ? tr("%1, predicted").arg(kind) : kind);
    lines << tr("%1 from %2").arg(secondsText(it.seconds), secondsText(it.start));
    QStringList of;
    if (it.layer >= 0)
        of << tr("layer %1").arg(it.layer);
    if (it.microBatch >= 0)
        of << tr("micro-batch %1").arg(it.microBatch);
    if (!of.isEmpty())
        lines << of.join(QStringLiteral(", "));
    return (lines << where).join(QLatin1Char('\n'));
}

// Painting.

void TimelineCanvas::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const QPaintEngine* engine = painter.paintEngine(); // of what is painted to in the end
    const bool screen = engine->type() == QPaintEngine::Raster && engine->paintDevice() != nullptr
        && qFuzzyCompare(engine->paintDevice()->devicePixelRatioF(), devicePixelRatioF());
    if (!screen) {
        paintBase(painter);
        return;
    }
    if (m_base.isNull() || m_base.size() != size() * devicePixelRatioF()) {
        m_base = QPixmap(size() * devicePixelRatioF());
        m_base.setDevicePixelRatio(devicePixelRatioF());
        m_base.fill(Theme::of(this).window);
        QPainter on(&m_base);
        on.setFont(font());
        paintBase(on);
    }
    painter.drawPixmap(0, 0, m_base);
    paintOverlay(painter);
}

void TimelineCanvas::paintBase(QPainter& painter) const
{
    const Ink ink(this);
    painter.fillRect(rect(), ink.theme.window);
    if (!m_timeline)
        return;
    paintRuler(painter, ink);
    const QRectF area = lanesArea();
    painter.save();
    painter.setClipRect(QRectF(0, area.top(), width(), area.height()));
    for (const Row& row : m_rows) {
        const double top = rowTop(row);
        if (top + row.height + kRowGap < area.top() || top > area.bottom())
            continue;
        paintRow(painter, ink, row);
    }
    painter.restore();
    paintPath(painter);
    paintMemory(painter, ink);
}

void TimelineCanvas::paintRuler(QPainter& painter, const Ink& ink) const
{
    const QRectF area = lanesArea();
    const double bottom = m_timeline->memory.empty() ? area.bottom() : memoryArea().bottom();
    const double step = rulerStep(m_window.secondsPerPixel * 9 * ink.smallMetrics.averageCharWidth());
    painter.setFont(ink.small);
    const auto first = static_cast<std::int64_t>(std::ceil(std::max(0.0, m_window.from) / step - 1e-9));
    const double to = std::min(m_window.to(), m_timeline->seconds);
    for (std::int64_t i = first; static_cast<double>(i) * step <= to * (1 + 1e-12); ++i) {
        const double time = static_cast<double>(i) * step;
        const double x = std::round(area.left() + m_window.pixelOf(time)) + 0.5;
        painter.setPen(QPen(blended(ink.theme.window, ink.theme.line, 0.7), 1));
        painter.drawLine(QPointF(x, area.top() - 5), QPointF(x, bottom));
        painter.setPen(ink.theme.quiet);
        const double wide = ink.smallMetrics.horizontalAdvance(secondsText(time));
        if (x + 3 + wide <= area.right() + m_scroll->sizeHint().width())
            painter.drawText(QPointF(x + 3, area.top() - 7), secondsText(time));
    }
    painter.setPen(QPen(ink.theme.line, 1));
    painter.drawLine(QPointF(area.left(), area.top() - 0.5), QPointF(area.right(), area.top() - 0.5));
}

void TimelineCanvas::paintRow(QPainter& painter, const Ink& ink, const Row& row) const
{
    const QRectF area = lanesArea();
    const double top = rowTop(row);
    const bool current = m_current.row >= 0 && &m_rows[static_cast<std::size_t>(m_current.row)] == &row;
    if (current)
        painter.fillRect(QRectF(0, top - 1, width(), row.height + 2), ink.theme.selection);
    const QRectF label(8, top, area.left() - 14, std::max(row.height, ink.smallMetrics.height()));
    double room = label.width();
    if (!row.error.isEmpty()) {
        painter.setFont(monoFont(this, -1.5));
        painter.setPen(row.attention ? ink.theme.attention : ink.theme.quiet);
        painter.drawText(label, Qt::AlignRight | Qt::AlignVCenter, row.error);
        room -= QFontMetricsF(painter.font()).horizontalAdvance(row.error) + 8;
    }
    QString text = row.first ? row.group : row.name;
    if (row.first && !row.name.isEmpty() && row.name != QLatin1String("compute") && row.predicted < 0)
        text = row.group + QStringLiteral(" · ") + row.name;
    if (!text.isEmpty()) {
        painter.setFont(row.first ? uiFont(this, -1, current) : ink.small);
        painter.setPen(row.first ? ink.theme.text : ink.theme.quiet);
        painter.drawText(label, Qt::AlignLeft | Qt::AlignVCenter,
                         QFontMetricsF(painter.font()).elidedText(text, Qt::ElideMiddle, room));
    }
    painter.save();
    painter.setClipRect(area, Qt::IntersectClip);
    if (row.predicted >= 0)
        paintStrip(painter, ink, m_timeline->lanes[static_cast<std::size_t>(row.predicted)],
                   static_cast<std::size_t>(row.predicted), stripOf(row, true));
    if (m_faded && !m_timeline->lanes[static_cast<std::size_t>(row.lane)].predicted)
        painter.setOpacity(0.45);
    paintStrip(painter, ink, m_timeline->lanes[static_cast<std::size_t>(row.lane)], static_cast<std::size_t>(row.lane),
               stripOf(row, false));
    painter.restore();
}

void TimelineCanvas::paintStrip(QPainter& painter, const Ink& ink, const Lane& lane, std::size_t index, const QRectF& strip) const
{
    std::vector<LaneBlock> blocks;
    laneBlocks(lane, m_sums[index], m_window, blocks);
    const double text = ink.smallMetrics.height();
    const bool writes = strip.height() >= text - 1; // of large text no half of it
    painter.setFont(ink.small);
    for (const LaneBlock& block : blocks) {
        // Touching ones are told apart by a gap where there is room for it.
        const double gap = block.right - block.left > 5 && !block.joined ? 1 : 0;
        const QRectF rect(strip.left() + block.left, strip.top(), std::max(0.5, block.right - block.left - gap), strip.height());
        const bool quiet = m_kind >= 0 && m_kind != static_cast<int>(block.kind);
        if (block.kind == IntervalKind::Idle) {
            if (rect.width() >= 3)
                paintIdle(painter, rect, ink.theme);
        } else if (quiet) {
            painter.fillRect(rect, blended(ink.theme.window, intervalColor(block.kind, ink.theme), 0.15));
        } else if (lane.predicted && rect.width() >= 3 && strip.height() > 5) {
            paintPredicted(painter, rect, block.kind, ink.theme);
        } else {
            const double strength =
                (lane.predicted ? 0.65 : 1.0) * (block.joined ? 0.35 + 0.65 * static_cast<double>(block.filled) : 1);
            painter.fillRect(rect, blended(ink.theme.window, intervalColor(block.kind, ink.theme), strength));
        }
        if (!writes || block.joined || rect.width() < 5 * ink.smallMetrics.averageCharWidth())
            continue;
        const QRectF seen = rect.intersected(strip).adjusted(4, 0, -3, 0);
        QString name = qstr(m_timeline->nameOf(lane.intervals[block.first]));
        if (const qsizetype slash = name.indexOf(QLatin1Char('/')); slash > 0 && lane.intervals[block.first].item >= 0)
            name = name.mid(slash + 1); // the part is told by the tool tip
        const QString shown = ink.smallMetrics.elidedText(name, Qt::ElideRight, seen.width());
        if (shown.size() < 4 && shown != name)
            continue;
        if (lane.predicted && block.kind != IntervalKind::Idle) { // on a ground that hatching does not cross
            const double wide = ink.smallMetrics.horizontalAdvance(shown);
            painter.fillRect(QRectF(seen.left() - 2, seen.top() + 1, wide + 4, seen.height() - 2),
                             blended(ink.theme.panel, intervalColor(block.kind, ink.theme), 0.18));
            painter.setPen(ink.theme.text);
        } else if (block.kind == IntervalKind::Idle) {
            const double wide = ink.smallMetrics.horizontalAdvance(shown);
            painter.fillRect(QRectF(seen.left() - 2, seen.top(), wide + 4, seen.height()), ink.theme.window);
            painter.setPen(ink.theme.quiet);
        } else {
            painter.setPen(quiet ? ink.theme.quiet : intervalInk(block.kind, ink.theme));
        }
        painter.drawText(seen, Qt::AlignLeft | Qt::AlignVCenter, shown);
    }
    paintSelected(painter, ink, index, strip);
}

/// A frame around each that is wide enough, a line under those that are not.
void TimelineCanvas::paintSelected(QPainter& painter, const Ink& ink, std::size_t lane, const QRectF& strip) const
{
    if (lane >= m_selected.size())
        return;
    const auto& intervals = m_timeline->lanes[lane].intervals;
    const auto& selected = m_selected[lane];
    auto it = std::lower_bound(selected.begin(), selected.end(), m_window.from,
                               [&](std::uint32_t i, double time) { return intervals[i].end() < time; });
    double drawn = -10;
    for (; it != selected.end() && intervals[*it].start < m_window.to(); ++it) {
        const double left = m_window.pixelOf(intervals[*it].start);
        const double right = m_window.pixelOf(intervals[*it].end());
        if (right < drawn + 1) {
            const double until = m_window.timeAt(drawn + 1);
            it = std::lower_bound(it, selected.end(), until,
                                  [&](std::uint32_t i, double time) { return intervals[i].end() < time; });
            if (it == selected.end())
                break;
            --it;
            continue;
        }
        const QRectF rect(strip.left() + left, strip.top(), std::max(1.5, right - left), strip.height());
        if (rect.width() >= 4) {
            painter.setBrush(Qt::NoBrush);
            painter.setPen(QPen(ink.theme.window, 3));
            painter.drawRect(rect.adjusted(1, 1, -1, -1));
            painter.setPen(QPen(ink.theme.accent, 2));
            painter.drawRect(rect.adjusted(0, 0, 0, 0));
        } else {
            painter.fillRect(QRectF(rect.left(), strip.top(), rect.width(), strip.height()), ink.theme.accent);
        }
        drawn = right;
    }
}

/// Of the current row's group, or else the one that holds the most.
const MemoryLane* TimelineCanvas::shownMemory(bool predicted) const
{
    const std::string* group = m_current.row >= 0 ? &m_timeline->lanes[m_current.lane].group : nullptr;
    const MemoryLane* out = nullptr;
    double most = -1;
    for (std::size_t i = 0; i < m_timeline->memory.size(); ++i) {
        const MemoryLane& lane = m_timeline->memory[i];
        if (lane.predicted != predicted || lane.times.empty())
            continue;
        if (group != nullptr && lane.group == *group)
            return &lane;
        const double peak = *std::max_element(m_totals[i].begin(), m_totals[i].end());
        if (peak > most) {
            most = peak;
            out = &lane;
        }
    }
    return out;
}

void TimelineCanvas::paintMemory(QPainter& painter, const Ink& ink) const
{
    const QRectF area = memoryArea();
    if (area.isEmpty())
        return;
    const MemoryLane* predicted = shownMemory(true);
    const MemoryLane* measured = shownMemory(false);
    const MemoryLane* any = measured != nullptr ? measured : predicted;
    if (any == nullptr)
        return;
    const auto totals = [&](const MemoryLane* lane) -> const std::vector<double>& {
        return m_totals[static_cast<std::size_t>(lane - m_timeline->memory.data())];
    };
    double top = 1;
    for (const MemoryLane* lane : { predicted, measured })
        if (lane != nullptr)
            top = std::max(top, *std::max_element(totals(lane).begin(), totals(lane).end()));
    const double limit = any->limit;
    const bool showsLimit = limit > 0 && limit <= 2.5 * top;
    const double peak = top;
    top = 1.12 * std::max(top, showsLimit ? limit : 0.0);
    const auto yOf = [&](double bytes) { return area.bottom() - bytes / top * area.height(); };
    painter.setFont(ink.small);
    // What is written beside it: whose memory, its peak, the limit.
    const double line = ink.smallMetrics.height();
    const QRectF label(8, area.top(), area.left() - 14, line);
    painter.setPen(ink.theme.text);
    painter.drawText(label, Qt::AlignLeft | Qt::AlignVCenter, tr("memory"));
    painter.setPen(ink.theme.quiet);
    if (area.height() >= 2 * line)
        painter.drawText(label.translated(0, line), Qt::AlignLeft | Qt::AlignVCenter,
                         ink.smallMetrics.elidedText(qstr(any->group), Qt::ElideMiddle, label.width()));
    if (area.height() >= 3 * line)
        painter.drawText(label.translated(0, 2 * line), Qt::AlignLeft | Qt::AlignVCenter,
                         ink.smallMetrics.elidedText(tr("peak %1").arg(bytesText(static_cast<std::int64_t>(peak))), Qt::ElideRight,
                                                     label.width()));
    painter.save();
    painter.setClipRect(area.adjusted(0, -1, 0, 1));
    // By pixel the moment that needs the most.
    const auto highest = [&](const MemoryLane& lane, const std::vector<double>& sums, double from, double to) {
        const auto first = std::upper_bound(lane.times.begin(), lane.times.end(), from) - lane.times.begin() - 1;
        const auto last = std::lower_bound(lane.times.begin(), lane.times.end(), to) - lane.times.begin();
        if (last <= 0)
            return std::ptrdiff_t { -1 };
        const auto begin = sums.begin() + std::max<std::ptrdiff_t>(0, first);
        return std::max_element(begin, std::max(begin + 1, sums.begin() + last)) - sums.begin();
    };
    if (predicted != nullptr) {
        const double end = std::min(m_window.pixelOf(m_timeline->seconds), static_cast<double>(m_window.width));
        std::vector<QColor> colors;
        for (const std::string& cause : predicted->causes)
            colors.push_back(blended(ink.theme.window, memoryColor(cause), 0.8));
        for (int x = 0; x < static_cast<int>(end); ++x) {
            const std::ptrdiff_t at = highest(*predicted, totals(predicted), m_window.timeAt(x), m_window.timeAt(x + 1));
            if (at < 0)
                continue;
            double below = 0;
            for (std::size_t cause = 0; cause < predicted->causes.size(); ++cause) {
                const double bytes = predicted->bytes[cause][static_cast<std::size_t>(at)];
                painter.fillRect(QRectF(area.left() + x, yOf(below + bytes), 1, yOf(below) - yOf(below + bytes)), colors[cause]);
                below += bytes;
            }
        }
    }
    if (measured != nullptr) {
        QPainterPath path;
        double before = -1;
        for (int x = 0; x < m_window.width; ++x) {
            if (m_window.timeAt(x) > m_timeline->seconds)
                break;
            const std::ptrdiff_t at = highest(*measured, totals(measured), m_window.timeAt(x), m_window.timeAt(x + 1));
            if (at < 0)
                continue;
            const double y = yOf(totals(measured)[static_cast<std::size_t>(at)]);
            if (before < 0)
                path.moveTo(area.left() + x, y);
            else if (y != before)
                path.lineTo(area.left() + x, before);
            path.lineTo(area.left() + x + 1, y);
            before = y;
        }
        painter.setPen(QPen(ink.theme.text, 1.5));
        painter.setBrush(Qt::NoBrush);
        painter.drawPath(path);
    }
    if (showsLimit) {
        painter.setPen(QPen(ink.theme.error, 1.5, Qt::DashLine));
        painter.drawLine(QPointF(area.left(), yOf(limit)), QPointF(area.right(), yOf(limit)));
        painter.setPen(ink.theme.error);
        painter.drawText(QRectF(area.left(), yOf(limit) + 1, area.width() - 4, line), Qt::AlignRight | Qt::AlignTop,
                         tr("limit %1").arg(bytesText(static_cast<std::int64_t>(limit))));
    }
    painter.restore();
    painter.setPen(QPen(ink.theme.line, 1));
    painter.drawLine(QPointF(area.left(), area.bottom() + 0.5), QPointF(area.right(), area.bottom() + 0.5));
}

/// What follows the pointer.
void TimelineCanvas::paintOverlay(QPainter& painter) const
{
    const Ink ink(this);
    const QRectF area = lanesArea();
    if (m_timeline && m_drag == Drag::Range) {
        const double left = std::clamp(std::min(m_pressed.x(), m_last.x()), area.left(), area.right());
        const double right = std::clamp(std::max(m_pressed.x(), m_last.x()), area.left(), area.right());
        QColor ground = ink.theme.accent;
        ground.setAlphaF(0.18F);
        painter.fillRect(QRectF(left, 0, right - left, height()), ground);
    }
    const bool over = m_timeline && m_hover.x() >= area.left() && m_hover.x() <= area.right();
    if (over) {
        const double x = std::round(m_hover.x()) + 0.5;
        painter.setPen(QPen(ink.theme.accent, 1));
        painter.drawLine(QPointF(x, area.top() - 2), QPointF(x, height()));
        painter.setFont(ink.small);
        const QString text = m_drag == Drag::Range ? secondsText(std::abs(m_last.x() - m_pressed.x()) * m_window.secondsPerPixel)
                                                   : secondsText(std::max(0.0, m_window.timeAt(m_hover.x() - area.left())));
        const double wide = ink.smallMetrics.horizontalAdvance(text) + 12;
        const QRectF bubble(std::clamp(x - wide / 2, area.left(), width() - wide), 1, wide, ink.smallMetrics.height() + 4);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(ink.theme.accent);
        painter.drawRoundedRect(bubble, 4, 4);
        painter.setPen(ink.theme.onAccent);
        painter.drawText(bubble, Qt::AlignCenter, text);
        painter.setRenderHint(QPainter::Antialiasing, false);
    }
    if (m_timeline && m_current.interval >= 0) {
        const QRectF rect = rectOf(m_current.lane, static_cast<std::size_t>(m_current.interval));
        if (!rect.isEmpty()) {
            painter.setBrush(Qt::NoBrush);
            painter.setPen(QPen(ink.theme.text, 2));
            painter.drawRect(rect.adjusted(0, 0, 0, 0));
        }
    }
    if (hasFocus()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(ink.theme.accent, 1));
        painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
    }
}

// Input.

void TimelineCanvas::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    layOut();
    if (m_timeline)
        setWindow(m_window.from, m_window.secondsPerPixel);
}

void TimelineCanvas::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange || event->type() == QEvent::PaletteChange) {
        layOut();
        moved();
    }
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton)
        return QWidget::mousePressEvent(event);
    m_pressed = m_last = event->position();
    m_button = event->button();
    const bool onRuler = event->position().y() < lanesArea().top() && event->button() == Qt::LeftButton;
    m_drag = onRuler ? Drag::Range : event->button() == Qt::MiddleButton ? Drag::Pan : Drag::Waiting;
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event)
{
    m_hover = event->position();
    if (m_drag == Drag::Waiting && (m_hover - m_pressed).manhattanLength() >= QApplication::startDragDistance())
        m_drag = Drag::Pan;
    if (m_drag == Drag::Pan) {
        const QPointF by = m_hover - m_last;
        pan(by.x());
        if (!m_scroll->isHidden())
            m_scroll->setValue(m_scroll->value() - static_cast<int>(std::lround(by.y())));
    }
    m_last = event->position();
    update();
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != m_button)
        return QWidget::mouseReleaseEvent(event);
    const Drag drag = std::exchange(m_drag, Drag::None);
    m_button = Qt::NoButton;
    const QRectF area = lanesArea();
    if (drag == Drag::Range) {
        const double left = m_window.timeAt(std::min(m_pressed.x(), m_last.x()) - area.left());
        const double right = m_window.timeAt(std::max(m_pressed.x(), m_last.x()) - area.left());
        if (std::abs(m_last.x() - m_pressed.x()) >= QApplication::startDragDistance())
            setWindow(left, (right - left) / m_window.width);
    } else if (drag == Drag::Waiting) {
        choose(placeAt(event->position()), true);
    }
    update();
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return;
    choose(placeAt(event->position()), true);
    if (m_current.interval >= 0)
        showSelected();
}

void TimelineCanvas::leaveEvent(QEvent* event)
{
    QWidget::leaveEvent(event);
    m_hover = { -1, -1 };
    update();
}

void TimelineCanvas::wheelEvent(QWheelEvent* event)
{
    if (!m_timeline)
        return QWidget::wheelEvent(event);
    const QPoint turned = event->angleDelta();
    const QRectF area = lanesArea();
    if (event->modifiers() & Qt::ShiftModifier)
        pan(turned.y() != 0 ? turned.y() : turned.x());
    else if (std::abs(turned.x()) > std::abs(turned.y()))
        pan(turned.x());
    else if (event->position().x() < area.left() && !m_scroll->isHidden())
        m_scroll->setValue(m_scroll->value() - turned.y() / 2); // over the labels the rows scroll
    else
        zoomAt(std::clamp(event->position().x() - area.left(), 0.0, static_cast<double>(m_window.width)),
               std::pow(kWheelFactor, turned.y()));
    event->accept();
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event)
{
    if (!m_timeline)
        return QWidget::keyPressEvent(event);
    const bool shift = event->modifiers() & Qt::ShiftModifier;
    const double far = 0.1 * m_window.width;
    constexpr double kFactor = 1.5;
    switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Plus:
        return zoom(kFactor);
    case Qt::Key_S:
    case Qt::Key_Minus:
        return zoom(1 / kFactor);
    case Qt::Key_A:
        return pan(far);
    case Qt::Key_D:
        return pan(-far);
    case Qt::Key_0:
        return showAll();
    case Qt::Key_F:
        return shift ? showAll() : showSelected();
    case Qt::Key_Left:
        return moveAlong(-1);
    case Qt::Key_Right:
        return moveAlong(1);
    case Qt::Key_Up:
        return moveRow(-1);
    case Qt::Key_Down:
        return moveRow(1);
    case Qt::Key_Period:
    case Qt::Key_Greater: // the same key with Shift
        return followPath(shift ? -1 : 1);
    case Qt::Key_Home:
        return setWindow(0, m_window.secondsPerPixel);
    case Qt::Key_End:
        return setWindow(m_timeline->seconds, m_window.secondsPerPixel);
    case Qt::Key_PageUp:
        m_scroll->triggerAction(QAbstractSlider::SliderPageStepSub);
        return;
    case Qt::Key_PageDown:
        m_scroll->triggerAction(QAbstractSlider::SliderPageStepAdd);
        return;
    default:
        QWidget::keyPressEvent(event);
    }
}

bool TimelineCanvas::event(QEvent* event)
{
    if (answersToolTip(event, this, [this](const QPoint& point) { return textOf(placeAt(point)); }))
        return true;
    if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut)
        update();
    return QWidget::event(event);
}

// For screen readers every row is an item.

int TimelineCanvas::accessibleCount() const { return rowCount(); }

QString TimelineCanvas::accessibleItemName(int index) const
{
    if (index < 0 || index >= rowCount())
        return {};
    const Row& row = m_rows[static_cast<std::size_t>(index)];
    if (index == m_current.row && m_current.interval >= 0)
        return textOf(m_current);
    const Lane& lane = m_timeline->lanes[static_cast<std::size_t>(row.lane)];
    QStringList parts { qstr(lane.group) + QStringLiteral(", ") + qstr(lane.name) };
    const auto seconds = lane.secondsByKind();
    for (std::size_t kind = 0; kind < kIntervalKinds; ++kind)
        if (seconds[kind] > 0)
            parts << tr("%1 %2").arg(qstr(intervalKindName(static_cast<IntervalKind>(kind))), secondsText(seconds[kind]));
    return parts.join(QLatin1Char('\n'));
}

QRectF TimelineCanvas::accessibleItemRect(int index) const
{
    if (index < 0 || index >= rowCount())
        return {};
    const Row& row = m_rows[static_cast<std::size_t>(index)];
    return { 0, rowTop(row), static_cast<double>(width()), row.height };
}

int TimelineCanvas::accessibleItemAt(const QPointF& point) const { return placeAt(point).row; }

void TimelineCanvas::accessibleActivate(int index)
{
    if (index < 0 || index >= rowCount())
        return;
    choose({ index, static_cast<std::size_t>(m_rows[static_cast<std::size_t>(index)].lane), -1 }, false);
}

} // namespace shardboard
