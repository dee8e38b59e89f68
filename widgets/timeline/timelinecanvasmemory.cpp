// SPDX-License-Identifier: Apache-2.0
// The memory below the lanes of a timeline.
#include "model/plan/memorybytes.h"
#include "widgets/look/format.h"
#include "widgets/timeline/intervalinks.h"
#include "widgets/timeline/timelinecanvas.h"
#include "widgets/timeline/timelinecanvasink.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

/// In the hue that the cause has in the view of memory, too.
QColor memoryColor(const std::string& cause)
{
    const auto causes = memoryCauses();
    const auto it = std::find_if(causes.begin(), causes.end(), [&](const MemoryCause& one) { return cause == one.name; });
    return partColor(it == causes.end() ? 0 : it - causes.begin()).fill;
}

} // namespace

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
        const double below = yOf(limit) + 1; // or above, where the room ends
        painter.drawText(QRectF(area.left(), below + line <= area.bottom() ? below : below - 2 - line, area.width() - 4, line),
                         Qt::AlignRight | Qt::AlignTop, tr("limit %1").arg(bytesText(static_cast<std::int64_t>(limit))));
    }
    painter.restore();
    painter.setPen(QPen(ink.theme.line, 1));
    painter.drawLine(QPointF(area.left(), area.bottom() + 0.5), QPointF(area.right(), area.bottom() + 0.5));
}

} // namespace shardboard
