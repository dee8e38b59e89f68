// SPDX-License-Identifier: Apache-2.0
// Where the rows, lanes, and intervals of a timeline are, and what is at a point.
#include "widgets/look/format.h"
#include "widgets/timeline/timelinecanvas.h"
#include "widgets/timeline/timelinecanvasink.h"

#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace shardboard {

using namespace timelinecanvas;

namespace {

constexpr double kGroupGap = 6;
constexpr double kHit = 3; ///< so far beside a narrow interval it is still pointed at
constexpr double kLargeError = 0.15; ///< from this error on it is marked

/// `+4.4 %`; of a prediction for another machine, `× 719`.
QString errorOf(double share)
{
    if (share >= 10)
        return QStringLiteral("× ") + digitsText(share + 1);
    const QString text = percentText(std::abs(share));
    return share < 0 ? QStringLiteral("−") + text : QStringLiteral("+") + text;
}

} // namespace

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

} // namespace shardboard
