// SPDX-License-Identifier: Apache-2.0
// The picture of a timeline: ruler, lanes, and what follows the pointer.
#include "widgets/look/format.h"
#include "widgets/timeline/intervalinks.h"
#include "widgets/timeline/timelinecanvas.h"
#include "widgets/timeline/timelinecanvasink.h"

#include <QPaintEngine>
#include <QPainter>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace shardboard {

using namespace timelinecanvas;

namespace {

/// With as many digits as tell times apart that are `step` apart.
QString timeText(double seconds, double step)
{
    struct Unit {
        double seconds;
        const char* name;
    };
    constexpr Unit kUnits[] { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "µs" }, { 1e-9, "ns" } };
    const auto* unit = std::ranges::find_if(kUnits, [seconds](const Unit& one) { return seconds >= one.seconds * (1 - 1e-9); });
    if (unit == std::end(kUnits))
        unit = &kUnits[0];
    const int digits = std::clamp(static_cast<int>(std::ceil(std::log10(unit->seconds / step) - 1e-9)), 0, 12);
    QString number = QString::number(seconds / unit->seconds, 'f', digits);
    if (digits > 0)
        while (number.endsWith(QLatin1Char('0')))
            number.chop(1);
    if (number.endsWith(QLatin1Char('.')))
        number.chop(1);
    return number + QLatin1Char(' ') + QString::fromUtf8(unit->name);
}

} // namespace

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
    painter.setFont(ink.small);
    for (const auto& [time, text] : rulerMarks()) {
        const double x = std::round(area.left() + m_window.pixelOf(time)) + 0.5;
        painter.setPen(QPen(blended(ink.theme.window, ink.theme.line, 0.7), 1));
        painter.drawLine(QPointF(x, area.top() - 5), QPointF(x, bottom));
        painter.setPen(ink.theme.quiet);
        const double wide = ink.smallMetrics.horizontalAdvance(text);
        if (x + 3 + wide <= area.right() + m_scroll->sizeHint().width())
            painter.drawText(QPointF(x + 3, area.top() - 7), text);
    }
    painter.setPen(QPen(ink.theme.line, 1));
    painter.drawLine(QPointF(area.left(), area.top() - 0.5), QPointF(area.right(), area.top() - 0.5));
}

std::vector<std::pair<double, QString>> TimelineCanvas::rulerMarks() const
{
    std::vector<std::pair<double, QString>> out;
    if (!m_timeline)
        return out;
    const QFontMetricsF metrics(uiFont(this, -1.5));
    const double to = std::min(m_window.to(), m_timeline->seconds);
    double room = 9 * metrics.averageCharWidth(); // a text, and some before the next one
    double step = 0;
    for (int tries = 0; tries < 3; ++tries) {
        step = rulerStep(m_window.secondsPerPixel * room);
        room = std::max(room, metrics.horizontalAdvance(timeText(to, step)) + 2 * metrics.averageCharWidth());
    }
    const auto first = static_cast<std::int64_t>(std::ceil(std::max(0.0, m_window.from) / step - 1e-9));
    for (std::int64_t i = first; static_cast<double>(i) * step <= to * (1 + 1e-12); ++i)
        out.emplace_back(static_cast<double>(i) * step, timeText(static_cast<double>(i) * step, step));
    return out;
}

void TimelineCanvas::paintRow(QPainter& painter, const Ink& ink, const Row& row) const
{
    const QRectF area = lanesArea();
    const double top = rowTop(row);
    const bool current = m_current.row >= 0 && &m_rows[static_cast<std::size_t>(m_current.row)] == &row;
    if (current)
        painter.fillRect(QRectF(0, top - 1, width(), row.height + 2), ink.theme.selection);
    const QRectF label(8, top, area.left() - 14, std::max(row.height, ink.smallMetrics.height()));
    const bool whole = label.top() >= area.top() - 1 && label.bottom() <= area.bottom() + 1; // no half of a word
    double room = label.width();
    if (!row.error.isEmpty() && whole) {
        painter.setFont(monoFont(this, -1.5));
        painter.setPen(row.attention ? ink.theme.attention : ink.theme.quiet);
        painter.drawText(label, Qt::AlignRight | Qt::AlignVCenter, row.error);
        room -= QFontMetricsF(painter.font()).horizontalAdvance(row.error) + 8;
    }
    QString text = row.first ? row.group : row.name;
    if (row.first && !row.name.isEmpty() && row.name != QLatin1String("compute") && row.predicted < 0)
        text = row.group + QStringLiteral(" · ") + row.name;
    if (!text.isEmpty() && whole) {
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
                                                   : timeText(std::max(0.0, m_window.timeAt(m_hover.x() - area.left())),
                                                              std::pow(10, std::ceil(std::log10(m_window.secondsPerPixel))));
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

} // namespace shardboard
