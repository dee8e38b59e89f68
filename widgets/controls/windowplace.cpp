// SPDX-License-Identifier: Apache-2.0
#include "widgets/controls/windowplace.h"

#include <QGuiApplication>
#include <QScreen>
#include <QWidget>

#include <algorithm>

namespace shardboard {

QRect placedWithin(const QRect& wanted, const QRect& screen, const QSize& frame)
{
    const QSize size = wanted.size().boundedTo(screen.size() - frame);
    const int x = std::clamp(wanted.x(), screen.left(), std::max(screen.left(), screen.right() + 1 - size.width() - frame.width()));
    const int y =
        std::clamp(wanted.y(), screen.top(), std::max(screen.top(), screen.bottom() + 1 - size.height() - frame.height()));
    return { QPoint(x, y), size };
}

void fitToScreen(QWidget* window)
{
    const QRect now(window->pos(), window->size());
    const QScreen* on = nullptr;
    std::int64_t most = 0;
    for (const QScreen* screen : QGuiApplication::screens()) {
        const QRect seen = screen->availableGeometry().intersected(now);
        const std::int64_t area = seen.isEmpty() ? 0 : std::int64_t { seen.width() } * seen.height();
        if (area > most) {
            most = area;
            on = screen;
        }
    }
    const bool hidden = most * 4 < std::int64_t { now.width() } * now.height(); // less than a quarter is to be seen
    if (on == nullptr)
        on = QGuiApplication::primaryScreen();
    if (on == nullptr)
        return;
    const QRect screen = on->availableGeometry();
    const QSize frame = window->isVisible() ? window->frameGeometry().size() - window->size() : QSize(0, 0);
    const QRect placed = placedWithin(now, screen, frame);
    if (placed.size() != now.size())
        window->resize(placed.size());
    if (hidden && placed.topLeft() != now.topLeft())
        window->move(placed.topLeft());
}

} // namespace shardboard
