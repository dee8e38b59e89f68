// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/viewwaker.h"

#include "widgets/document/documentview.h"

#include <QCoreApplication>
#include <QEvent>
#include <QPointer>
#include <QWidget>

#include <vector>

namespace shardboard {

namespace {

bool isInput(QEvent::Type type)
{
    switch (type) {
    case QEvent::KeyPress:
    case QEvent::KeyRelease:
    case QEvent::ShortcutOverride:
    case QEvent::Shortcut:
    case QEvent::InputMethod:
    case QEvent::MouseButtonPress:
    case QEvent::MouseButtonRelease:
    case QEvent::MouseButtonDblClick:
    case QEvent::MouseMove:
    case QEvent::Wheel:
    case QEvent::NativeGesture:
    case QEvent::ContextMenu:
    case QEvent::DragEnter:
    case QEvent::DragMove:
    case QEvent::Drop:
    case QEvent::ToolTip:
    case QEvent::WhatsThis:
        return true;
    default:
        return false;
    }
}

} // namespace

ViewWaker::ViewWaker(QObject* parent)
    : QObject(parent)
{
    QCoreApplication::instance()->installEventFilter(this);
}

bool ViewWaker::eventFilter(QObject* watched, QEvent* event)
{
    if (!isInput(event->type()) || !watched->isWidgetType())
        return false;
    std::vector<QPointer<DocumentView>> asleep;
    for (auto* widget = static_cast<QWidget*>(watched); widget != nullptr && !widget->isWindow(); widget = widget->parentWidget())
        if (auto* view = qobject_cast<DocumentView*>(widget); view != nullptr && view->isAsleep())
            asleep.emplace_back(view);
    const QPointer<QObject> target = watched;
    for (const QPointer<DocumentView>& view : asleep)
        if (view)
            view->setAsleep(false);
    return !target; // what the input was for may be gone, since the view has made others in its place
}

} // namespace shardboard
