// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/axistakeoff.h"

#include "widgets/controls/axisdrag.h"
#include "widgets/tiles/tilecanvas.h"

#include <QDropEvent>
#include <QWidget>

namespace shardboard {

AxisTakeOff::AxisTakeOff(QWidget* window)
    : QObject(window)
{
    window->setAcceptDrops(true);
    window->installEventFilter(this);
}

/// Views that take an axis themselves have been asked before the window is.
bool AxisTakeOff::eventFilter(QObject*, QEvent* event)
{
    const QEvent::Type type = event->type();
    if (type != QEvent::DragEnter && type != QEvent::DragMove && type != QEvent::Drop)
        return false;
    auto* drop = static_cast<QDropEvent*>(event); // the base of all three
    QObject* source = drop->source(); // not every platform carries our data itself, or knows the source
    auto* canvas = qobject_cast<TileCanvas*>(source != nullptr ? source : axisSource(drop->mimeData()));
    const QString axis = axisFromMimeData(drop->mimeData());
    if (canvas == nullptr || !canvas->cutsOver(axis))
        return false;
    drop->acceptProposedAction();
    if (type == QEvent::Drop) // later: the canvas is still in its drag
        QMetaObject::invokeMethod(
            canvas, [canvas, axis] { canvas->takeOff(axis); }, Qt::QueuedConnection);
    return true;
}

} // namespace shardboard
