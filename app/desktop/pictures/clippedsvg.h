// SPDX-License-Identifier: Apache-2.0
// Vector pictures in which nothing lies beyond its frame. QSvgGenerator writes no clip paths, so what is drawn is cut here, before
// it is written: shapes to the part that is seen, text that is cut to its outlines. Text that is seen whole stays text.
#pragma once

#include <QByteArray>

class QWidget;

namespace shardboard {

/// The widget as SVG, in its own size; text has the size that it has on the screen.
QByteArray svgOf(QWidget* view);

} // namespace shardboard
