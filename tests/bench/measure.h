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
#include <cstdint>
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

constexpr double kFrame = 8; ///< milliseconds

/// Milliseconds of a fixed amount of plain work on one core, the least of several: what figures of different machines, and of busy
/// and idle ones, are divided by to be compared.
inline double fixedKernel()
{
    double least = 1e9;
    for (int run = 0; run < 7; ++run) {
        const auto start = Clock::now();
        std::vector<std::uint32_t> image(1600 * 1000);
        std::uint32_t state = 2463534242u;
        for (int pass = 0; pass < 4; ++pass)
            for (std::uint32_t& pixel : image) {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                pixel = pixel / 2 + (state & 0x7f7f7f7fu);
            }
        volatile std::uint32_t kept = image[state % image.size()]; // so that the work is done
        (void)kept;
        least = std::min(least, millisecondsSince(start));
    }
    return least;
}

/// Adds to every summary in a report its p99 in units of the fixed kernel.
inline void addRatios(json& report, double kernel)
{
    if (!report.is_structured() || kernel <= 0)
        return;
    if (report.is_object() && report.contains("p99"))
        report["kernels"] = std::round(report["p99"].get<double>() / kernel * 1000) / 1000;
    for (json& part : report)
        addRatios(part, kernel);
}

} // namespace shardboard::bench
