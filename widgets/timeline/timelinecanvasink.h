// SPDX-License-Identifier: Apache-2.0
// What the parts of the timeline's canvas draw with, and the heights of its rows in pixels.
#pragma once

#include "widgets/look/theme.h"
#include "widgets/timeline/timelinecanvas.h"

#include <QFont>
#include <QFontMetricsF>

namespace shardboard {

namespace timelinecanvas {

inline constexpr double kPredicted = 7;
inline constexpr double kMeasured = 14;
inline constexpr double kAlone = 15; ///< a lane that has no other beside it
inline constexpr double kLink = 9; ///< of a link, below what the device does
inline constexpr double kRowGap = 4;

} // namespace timelinecanvas

struct TimelineCanvas::Ink {
    const Theme& theme;
    QFont font;
    QFont small;
    QFontMetricsF metrics;
    QFontMetricsF smallMetrics;

    explicit Ink(const QWidget* widget)
        : theme(Theme::of(widget))
        , font(widget->font())
        , small(uiFont(widget, -1.5))
        , metrics(font)
        , smallMetrics(small)
    {
    }
};

} // namespace shardboard
