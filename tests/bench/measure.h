// SPDX-License-Identifier: Apache-2.0
// What the benchmarks of the window share: how frames are timed and told.
//
// `cpu` is the time of the GUI thread alone, which other programs on the machine do not change much.
//
// A frame is one input event with all that follows from it: signals, layouts and painting into the window's backing store.
#pragma once

#include <QApplication>
#include <QEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <QWidget>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <functional>
#include <vector>

namespace shardboard::bench {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

inline double millisecondsSince(Clock::time_point start)
{
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Everything that waits: posted events, layouts, timers of no time; then what is dirty is painted, which the platform would do at
/// its next tick. Not what works in the background.
inline void settle()
{
    QApplication::sendPostedEvents();
    QApplication::processEvents(QEventLoop::ExcludeUserInputEvents);
    QApplication::sendPostedEvents();
    for (QWidget* window : QApplication::topLevelWidgets()) {
        QEvent paint(QEvent::UpdateRequest);
        if (window->isVisible())
            QApplication::sendEvent(window, &paint);
    }
}

inline double threadMilliseconds()
{
    timespec now {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct Times {
    std::vector<double> wall;
    std::vector<double> cpu;
};

inline double quantile(std::vector<double> times, double share)
{
    std::sort(times.begin(), times.end());
    const double value =
        times.empty() ? 0 : times[std::min(times.size() - 1, static_cast<std::size_t>(share * static_cast<double>(times.size())))];
    return std::round(value * 1000) / 1000;
}

inline json summary(const Times& times, double goal)
{
    json out { { "frames", times.wall.size() },
               { "median", quantile(times.wall, 0.5) },
               { "p99", quantile(times.wall, 0.99) },
               { "goal", goal },
               { "met", quantile(times.wall, 0.99) <= goal } };
    if (!times.cpu.empty())
        out["cpu"] = { { "median", quantile(times.cpu, 0.5) },
                       { "p99", quantile(times.cpu, 0.99) },
                       { "met", quantile(times.cpu, 0.99) <= goal } };
    return out;
}

/// The time of `frames` events, after a few that are not counted.
inline Times frames(int count, const std::function<void(int)>& event)
{
    constexpr int kWarm = 5;
    Times out;
    for (int i = -kWarm; i < count; ++i) {
        const auto start = Clock::now();
        const double before = threadMilliseconds();
        event(i + kWarm);
        settle();
        if (i < 0)
            continue;
        out.wall.push_back(millisecondsSince(start));
        out.cpu.push_back(threadMilliseconds() - before);
    }
    return out;
}

inline void mouse(QWidget* widget, QEvent::Type type, const QPointF& at, Qt::MouseButton button, Qt::MouseButtons buttons)
{
    QMouseEvent event(type, at, widget->mapToGlobal(at), button, buttons, Qt::NoModifier);
    QApplication::sendEvent(widget, &event);
}

inline void wheel(QWidget* widget, const QPointF& at, int delta)
{
    QWheelEvent event(at, widget->mapToGlobal(at), {}, QPoint(0, delta), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(widget, &event);
}

/// A point that goes round in a widget.
inline QPointF wandering(const QWidget* widget, int step)
{
    const double x = 0.5 + 0.35 * std::sin(step * 0.37);
    const double y = 0.5 + 0.35 * std::cos(step * 0.23);
    return { widget->width() * x, widget->height() * y };
}

constexpr double kFrame = 16; ///< milliseconds

} // namespace shardboard::bench
