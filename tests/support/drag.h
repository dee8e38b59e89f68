// SPDX-License-Identifier: Apache-2.0
// What a widget is sent while something is dragged over it with the left button.
#pragma once

#include "widgets/controls/axisdrag.h"

#include <QApplication>
#include <QDragEnterEvent>
#include <QMimeData>
#include <QUrl>
#include <QWidget>

#include <memory>

namespace shardboard::test {

/// Each answers whether the widget accepted it.
struct Drag {
    bool enter(const QPointF& at) const { return sends<QDragEnterEvent>(at.toPoint()); }
    bool move(const QPointF& at) const { return sends<QDragMoveEvent>(at.toPoint()); }
    bool drop(const QPointF& at) const { return sends<QDropEvent>(at); }
    void leave() const
    {
        QDragLeaveEvent event;
        QApplication::sendEvent(target, &event);
    }
    /// From the first to the last, as far as it is taken.
    bool dropAt(const QPointF& at) const
    {
        if (!enter(at))
            return false;
        if (move(at))
            return drop(at);
        leave();
        return false;
    }
    template <class Event, class Point>
    bool sends(const Point& at) const
    {
        Event event(at, actions, data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(target, &event);
        return event.isAccepted();
    }

    QWidget* target;
    const QMimeData* data;
    Qt::DropActions actions = Qt::CopyAction | Qt::MoveAction;
};

inline bool dropAxis(QWidget* target, const QString& axis, const QPointF& at)
{
    const std::unique_ptr<QMimeData> data(axisMimeData(axis));
    return Drag { target, data.get() }.dropAt(at);
}

inline bool dropFile(QWidget* target, const QString& path, const QPointF& at)
{
    QMimeData data;
    data.setUrls({ QUrl::fromLocalFile(path) });
    const Drag drag { target, &data };
    return drag.enter(at) && drag.drop(at); // windows say nothing on the way
}

} // namespace shardboard::test
