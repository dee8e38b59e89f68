// SPDX-License-Identifier: Apache-2.0
// A plot that is drawn anew wherever it is rendered to other than the screen: with lines and text in a vector picture, with the
// pixels of the picture in one that is larger. QCustomPlot itself would copy the pixels of the screen. Only for sources of this
// folder.
#pragma once

#include <qcustomplot.h>

namespace shardboard {

class VectorPlot : public QCustomPlot {
public:
    using QCustomPlot::QCustomPlot;

protected:
    void paintEvent(QPaintEvent* event) override
    {
        {
            QCPPainter painter(this);
            if (!painter.isActive())
                return;
            const QPaintEngine* engine = painter.paintEngine(); // of what is drawn to in the end
            const bool pixels = engine->type() == QPaintEngine::Raster;
            const bool screen = pixels && engine->paintDevice() != nullptr
                && qFuzzyCompare(engine->paintDevice()->devicePixelRatioF(), bufferDevicePixelRatio());
            if (!screen) {
                if (!pixels)
                    painter.setMode(QCPPainter::pmVectorized);
                toPainter(&painter, width(), height());
                return;
            }
        }
        QCustomPlot::paintEvent(event);
    }

protected:
    /// Without room there is nothing to paint on, which QCustomPlot complains of.
    void resizeEvent(QResizeEvent* event) override
    {
        if (!rect().isEmpty())
            QCustomPlot::resizeEvent(event);
    }
};

} // namespace shardboard
