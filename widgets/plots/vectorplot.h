// SPDX-License-Identifier: Apache-2.0
// A plot that is drawn anew wherever it is rendered to other than the screen: with lines and text in a vector picture, with the
// pixels of the picture in one that is larger. QCustomPlot itself would copy the pixels of the screen. Only for sources of this
// folder.
#pragma once

#include <qcustomplot.h>

#include <functional>
#include <utility>

namespace shardboard {

class VectorPlot : public QCustomPlot {
public:
    /// `prepare` is called before each drawing of what has changed.
    VectorPlot(QWidget* parent, std::function<void()> prepare)
        : QCustomPlot(parent)
        , m_prepare(std::move(prepare))
    {
    }

    /// Before it is painted next, once for all that has changed until then.
    void drawAnew()
    {
        m_stale = true;
        update();
    }

protected:
    void paintEvent(QPaintEvent* event) override
    {
        if (m_stale)
            m_prepare();
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
        if (std::exchange(m_stale, false))
            replot(rpQueuedRefresh);
        QCustomPlot::paintEvent(event);
    }

    /// Without room there is nothing to paint on, which QCustomPlot complains of.
    void resizeEvent(QResizeEvent*) override
    {
        if (rect().isEmpty())
            return;
        setViewport(rect());
        drawAnew();
    }

private:
    std::function<void()> m_prepare;
    bool m_stale = true;
};

} // namespace shardboard
