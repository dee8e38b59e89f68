// SPDX-License-Identifier: Apache-2.0
// The critical path in the timeline: a line below the lanes that it runs on, from one to the next.
#include "widgets/timeline/timelinecanvas.h"

#include "widgets/look/theme.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace shardboard {

void TimelineCanvas::setPathShown(bool shown)
{
    if (shown == m_pathShown)
        return;
    m_pathShown = shown;
    moved();
}

/// What lies within a pixel is drawn once.
void TimelineCanvas::paintPath(QPainter& painter) const
{
    if (!m_pathShown || m_timeline->path.empty())
        return;
    const QRectF area = lanesArea();
    const auto below = [this](std::size_t lane) {
        const int row = rowOfLane(lane);
        return row < 0 ? -1.0 : rowTop(m_rows[static_cast<std::size_t>(row)]) + m_rows[static_cast<std::size_t>(row)].height + 1.5;
    };
    const std::vector<PathPart>& path = m_timeline->path;
    auto at = std::ranges::upper_bound(path, m_window.from, {}, &PathPart::end);
    QPainterPath line;
    bool begun = false;
    double left = 0; // of the pixel that is being drawn
    double low = 0;
    double high = 0;
    double y = 0;
    for (; at != path.end() && at->start <= m_window.to(); ++at) {
        const double from = area.left() + std::clamp(m_window.pixelOf(at->start), -4.0, m_window.width + 4.0);
        const double to = area.left() + std::clamp(m_window.pixelOf(at->end), -4.0, m_window.width + 4.0);
        const double here = below(at->lane);
        if (here < 0)
            continue;
        if (!begun) {
            line.moveTo(from, here);
            begun = true;
            left = from;
            low = high = y = here;
        }
        if (to - left < 1 && at + 1 != path.end()) { // within a pixel: only how far up and down it goes
            low = std::min(low, here);
            high = std::max(high, here);
            y = here;
            continue;
        }
        if (high > low) {
            line.lineTo(left, low);
            line.lineTo(left, high);
        }
        line.lineTo(from, y);
        line.lineTo(from, here);
        line.lineTo(to, here);
        left = to;
        low = high = y = here;
    }
    painter.save();
    painter.setClipRect(area);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(Theme::of(this).text, 2, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(line);
    painter.restore();
}

/// To the next interval of the path after what is current, or the one before it.
void TimelineCanvas::followPath(int by)
{
    const std::vector<PathPart>& path = m_timeline->path;
    if (path.empty())
        return;
    const auto intervalIn = [this](const PathPart& part, double time) -> std::ptrdiff_t {
        const auto& intervals = m_timeline->lanes[part.lane].intervals;
        const auto it = std::ranges::upper_bound(intervals, time, {}, &LaneInterval::start);
        return it == intervals.begin() ? 0 : it - intervals.begin() - 1;
    };
    const double tiny = 1e-9 * m_timeline->seconds;
    double time = -1;
    if (m_current.interval >= 0) {
        const LaneInterval& it = m_timeline->lanes[m_current.lane].intervals[static_cast<std::size_t>(m_current.interval)];
        time = by > 0 ? it.end() + tiny : it.start - tiny;
        if (by < 0 && time < 0)
            return;
    }
    if (m_current.interval < 0)
        time = by > 0 ? path.front().start + tiny : path.back().end - tiny;
    auto part = std::ranges::upper_bound(path, time, {}, &PathPart::end);
    if (part == path.end()) {
        if (by > 0)
            return;
        part = path.end() - 1;
    }
    if (m_timeline->lanes[part->lane].intervals.empty())
        return;
    const std::ptrdiff_t interval = intervalIn(*part, std::max(time, part->start + tiny));
    choose({ rowOfLane(part->lane), part->lane, interval }, true);
    revealCurrent();
}

} // namespace shardboard
