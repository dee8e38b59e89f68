// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/files/filedrops.h"

#include "app/desktop/files/fileactions.h"

#include <QApplication>
#include <QDropEvent>
#include <QWidget>

namespace shardboard {

FileDrops::FileDrops(QWidget* window)
    : QObject(window)
    , m_window(window)
{
    window->setAcceptDrops(true);
    qApp->installEventFilter(this);
}

bool FileDrops::eventFilter(QObject* watched, QEvent* event)
{
    const QEvent::Type type = event->type();
    if (type != QEvent::DragEnter && type != QEvent::DragMove && type != QEvent::Drop)
        return false;
    const auto* widget = qobject_cast<QWidget*>(watched);
    if (widget == nullptr || widget->window() != m_window)
        return false;
    auto* drop = static_cast<QDropEvent*>(event); // the base of all three
    const QString path = FileActions::droppedFile(drop->mimeData());
    if (path.isEmpty())
        return false;
    drop->acceptProposedAction();
    if (type == QEvent::Drop)
        QMetaObject::invokeMethod(
            this, [this, path] { Q_EMIT dropped(path); }, Qt::QueuedConnection);
    return true;
}

} // namespace shardboard
