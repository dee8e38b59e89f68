// SPDX-License-Identifier: Apache-2.0
// Whether a widget paints itself for the screen, where what it has prepared as pixels will do, or for a picture in a file, where
// lines and text are to stay such and pixels may be finer.
#pragma once

#include <QPaintEngine>
#include <QPainter>
#include <QWidget>

namespace shardboard {

inline bool paintsScreen(const QPainter& painter, const QWidget& widget)
{
    const QPaintEngine* engine = painter.paintEngine(); // of what is painted to in the end
    return engine->type() == QPaintEngine::Raster && engine->paintDevice() != nullptr
        && qFuzzyCompare(engine->paintDevice()->devicePixelRatioF(), widget.devicePixelRatioF());
}

} // namespace shardboard
