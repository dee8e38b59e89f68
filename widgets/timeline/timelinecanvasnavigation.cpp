// SPDX-License-Identifier: Apache-2.0
// Moving in the time of a timeline and from lane to lane, by the mouse and by keys.
#include "widgets/timeline/timelinecanvas.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardboard {

namespace {

constexpr double kWheelFactor = 1.0015; ///< to the power of an eighth of a degree
constexpr double kLeastSecondsPerPixel = 1e-10;

} // namespace

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

} // namespace shardboard
