// SPDX-License-Identifier: Apache-2.0
#include "widgets/timeline/timelinecanvas.h"

#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"

#include <QApplication>
#include <QScrollBar>
#include <QStatusTipEvent>

#include <algorithm>

namespace shardboard {

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

void TimelineCanvas::moved()
{
    m_base = QPixmap();
    update();
}

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

bool TimelineCanvas::event(QEvent* event)
{
    if (answersToolTip(event, this, [this](const QPoint& point) { return textOf(placeAt(point)); }))
        return true;
    if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut)
        update();
    return QWidget::event(event);
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
