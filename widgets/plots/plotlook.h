// SPDX-License-Identifier: Apache-2.0
// Colors of plots, as the theme has them.
#pragma once

#include <QColor>

namespace shardboard {

struct PlotLook {
    QColor background;
    QColor text; ///< of axes
    QColor strong; ///< of what is named in the plot
    QColor line;
    QColor accent;
    QColor over; ///< of a limit
};

} // namespace shardboard
