// SPDX-License-Identifier: Apache-2.0
#include "widgets/tiles/tilecanvas.h"

#include "widgets/controls/axisdrag.h"
#include "widgets/edits/weightedits.h"

#include <QDragEnterEvent>
#include <QKeyEvent>
#include <QMimeData>

#include <algorithm>
#include <tuple>
#include <utility>

namespace shardboard {

void TileCanvas::hoverAt(const QPointF& point)
{
    setCursor(axisAt(point) >= 0 ? Qt::OpenHandCursor : Qt::ArrowCursor);
    selection()->setHoveredDevice(deviceAt(point));
    selection()->setHoveredWeight(m_weight >= 0 && m_frame.contains(point) ? m_weight : -1);
}

void TileCanvas::selectAt(const QPointF& point)
{
    if (const std::int64_t device = deviceAt(point); device >= 0)
        selection()->setDevice(device);
}

void TileCanvas::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape && selection()->device() >= 0)
        selection()->setDevice(-1);
    else
        CanvasWidget::keyPressEvent(event);
}

/// To the tile beside the one of the current device.
void TileCanvas::moveCurrent(int dx, int dy)
{
    if (m_weight < 0 || m_scene.replicated || m_scene.tiles.empty())
        return;
    const std::int64_t from = selection()->device();
    int row = 0;
    int column = 0;
    const auto held = from >= 0 && from < m_scene.deviceCount ? m_scene.tilesOf(from) : std::vector<std::pair<int, int>>();
    if (!held.empty()) { // of an uneven cut a device may hold nothing
        std::tie(row, column) = held.front();
        row = std::clamp(row + dy, 0, static_cast<int>(m_scene.rows.size()) - 1);
        column = std::clamp(column + dx, 0, static_cast<int>(m_scene.columns.size()) - 1);
    }
    const std::int64_t device =
        m_scene.tiles[static_cast<std::size_t>(row) * m_scene.columns.size() + static_cast<std::size_t>(column)].firstOwner;
    selection()->setDevice(device);
    if (const QRectF tile = selectedPart(); !tile.isEmpty())
        bringIntoSight(tile, 8);
    tellStatus(tileText(device));
}

void TileCanvas::leaveEvent(QEvent*)
{
    selection()->setHoveredDevice(-1);
    selection()->setHoveredWeight(-1);
}

void TileCanvas::dragEnterEvent(QDragEnterEvent* event)
{
    if (m_weight < 0 || !document()->hasDesign())
        return;
    const QString name = axisFromMimeData(event->mimeData());
    m_dragAxis = name.isEmpty() ? -1 : document()->design().mesh.find(name.toStdString());
    m_dragDim = kNoDim;
    m_refusal.clear();
    if (m_dragAxis >= 0)
        event->acceptProposedAction();
    update();
}

void TileCanvas::dragMoveEvent(QDragMoveEvent* event)
{
    if (m_dragAxis < 0)
        return;
    const int dim = dimAt(event->position());
    if (dim != m_dragDim) {
        m_dragDim = dim;
        m_refusal = dim >= -1 && m_dropCheck ? m_dropCheck(m_dragAxis, dim) : QString();
        update();
    }
    event->setAccepted(m_dragDim >= -1 && m_refusal.isEmpty());
}

void TileCanvas::dragLeaveEvent(QDragLeaveEvent*)
{
    m_dragAxis = -1;
    m_refusal.clear();
    update();
}

bool TileCanvas::cutsOver(const QString& axis) const
{
    if (m_weight < 0 || axis.isEmpty() || !document()->hasDesign())
        return false;
    const int index = document()->design().mesh.find(axis.toStdString());
    return index >= 0 && dimOfAxis(m_layout, index) >= 0;
}

void TileCanvas::takeOff(const QString& axis)
{
    if (cutsOver(axis))
        Q_EMIT axisDropped(document()->design().mesh.find(axis.toStdString()), -1);
}

void TileCanvas::dropEvent(QDropEvent* event)
{
    const int axis = std::exchange(m_dragAxis, -1);
    update();
    if (axis < 0)
        return;
    const int dim = dimAt(event->position());
    m_refusal.clear();
    if (dim < -1)
        return;
    event->acceptProposedAction();
    Q_EMIT axisDropped(axis, dim);
}

} // namespace shardboard
