// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/pictures/clippedsvg.h"

#include "widgets/look/plaintext.h"

#include <QBuffer>
#include <QFont>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <QRegion>
#include <QSvgGenerator>
#include <QWidget>

#include <algorithm>
#include <vector>

namespace shardboard {

namespace {

/// XML has no control characters, not even escaped, nor the two last of the plane; QSvgGenerator writes them all the same. Views
/// have made names visible before; this is for what they have not.
QString xmlText(const QString& text)
{
    QString out = shownText(text);
    for (QChar& c : out)
        if (c.unicode() >= 0xfffe)
            c = QChar(QChar::ReplacementCharacter);
    return out;
}

/// Hands everything on to another painter, cut to the clip of the one that draws. Coordinates that Qt's engines call logical are
/// those before the painter's transform, which is handed on, too.
class ClippingEngine : public QPaintEngine {
public:
    explicit ClippingEngine(QPainter& out)
        : QPaintEngine(AllFeatures)
        , m_out(out)
    {
    }
    bool begin(QPaintDevice*) override { return true; }
    bool end() override { return true; }
    Type type() const override { return User; }

    void updateState(const QPaintEngineState& now) override
    {
        const DirtyFlags dirty = now.state();
        if (dirty & DirtyPen)
            m_out.setPen(now.pen());
        if (dirty & DirtyBrush)
            m_out.setBrush(now.brush());
        if (dirty & DirtyBrushOrigin)
            m_out.setBrushOrigin(now.brushOrigin());
        if (dirty & DirtyOpacity)
            m_out.setOpacity(now.opacity());
        if (dirty & DirtyHints)
            m_out.setRenderHints(now.renderHints());
        if (dirty & DirtyTransform)
            m_out.setTransform(now.transform());
        if (dirty & (DirtyClipPath | DirtyClipRegion | DirtyClipEnabled | DirtyTransform))
            m_clipKnown = false;
    }

    void drawPath(const QPainterPath& path) override
    {
        const QPen pen = m_out.pen();
        const QRectF reach = withPen(path.controlPointRect(), pen);
        switch (seen(reach)) {
        case Seen::Not:
            return;
        case Seen::Whole:
            m_out.drawPath(path);
            return;
        case Seen::Part:
            break;
        }
        const QPainterPath clip = ownClip();
        m_out.setPen(Qt::NoPen);
        if (m_out.brush().style() != Qt::NoBrush)
            m_out.drawPath(path.intersected(clip));
        if (pen.style() != Qt::NoPen) {
            const QBrush brush = m_out.brush();
            m_out.setBrush(pen.brush());
            m_out.drawPath(outline(path, pen).intersected(clip));
            m_out.setBrush(brush);
        }
        m_out.setPen(pen);
    }

    void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override
    {
        QPainterPath path;
        for (int i = 0; i < count; ++i)
            i == 0 ? path.moveTo(points[i]) : path.lineTo(points[i]);
        path.setFillRule(mode == WindingMode ? Qt::WindingFill : Qt::OddEvenFill);
        if (mode == PolylineMode) {
            const QBrush brush = m_out.brush();
            m_out.setBrush(Qt::NoBrush);
            drawPath(path);
            m_out.setBrush(brush);
            return;
        }
        path.closeSubpath();
        drawPath(path);
    }
    void drawPolygon(const QPoint* points, int count, PolygonDrawMode mode) override
    {
        std::vector<QPointF> exact(points, points + count);
        drawPolygon(exact.data(), count, mode);
    }
    void drawRects(const QRectF* rects, int count) override
    {
        for (int i = 0; i < count; ++i) {
            if (seen(withPen(rects[i], m_out.pen())) == Seen::Whole) {
                m_out.drawRect(rects[i]);
                continue;
            }
            QPainterPath path;
            path.addRect(rects[i]);
            drawPath(path);
        }
    }
    void drawRects(const QRect* rects, int count) override
    {
        for (int i = 0; i < count; ++i) {
            const QRectF exact(rects[i]);
            drawRects(&exact, 1);
        }
    }
    void drawLines(const QLineF* lines, int count) override
    {
        for (int i = 0; i < count; ++i) {
            QPainterPath path(lines[i].p1());
            path.lineTo(lines[i].p2());
            const QBrush brush = m_out.brush();
            m_out.setBrush(Qt::NoBrush);
            drawPath(path);
            m_out.setBrush(brush);
        }
    }
    void drawLines(const QLine* lines, int count) override
    {
        for (int i = 0; i < count; ++i) {
            const QLineF exact(lines[i]);
            drawLines(&exact, 1);
        }
    }

    void drawTextItem(const QPointF& at, const QTextItem& item) override
    {
        const QRectF reach(at.x(), at.y() - item.ascent(), item.width(), item.ascent() + item.descent());
        switch (seen(reach.adjusted(1, 1, -1, -1))) { // a letter's edge may lie on the clip's
        case Seen::Not:
            return;
        case Seen::Whole:
            m_out.setFont(fontOf(item));
            m_out.drawText(at, xmlText(item.text()));
            return;
        case Seen::Part:
            break;
        }
        QPainterPath letters;
        letters.addText(at, fontOf(item), item.text());
        letters.setFillRule(Qt::WindingFill);
        fill(letters.intersected(ownClip()), m_out.pen().brush());
    }

    void drawPixmap(const QRectF& to, const QPixmap& pixmap, const QRectF& from) override
    {
        drawImage(to, pixmap.toImage(), from, Qt::AutoColor);
    }
    void drawImage(const QRectF& to, const QImage& image, const QRectF& from, Qt::ImageConversionFlags) override
    {
        if (seen(to) == Seen::Not || to.isEmpty())
            return;
        const QRectF part = seen(to) == Seen::Whole ? to : to.intersected(ownClip().boundingRect());
        const double x = from.width() / to.width();
        const double y = from.height() / to.height();
        const QRectF source(from.left() + (part.left() - to.left()) * x, from.top() + (part.top() - to.top()) * y, part.width() * x,
                            part.height() * y);
        const QRect pixels = source.toAlignedRect().intersected(image.rect());
        if (!pixels.isEmpty()) // the generator writes whole images
            m_out.drawImage(part, image.copy(pixels));
    }
    void drawTiledPixmap(const QRectF& rect, const QPixmap& pixmap, const QPointF&) override
    {
        QPainterPath path;
        path.addRect(rect);
        fill(path.intersected(ownClip()), QBrush(pixmap));
    }

private:
    enum class Seen { Not, Part, Whole };

    /// The font of an item may say that nothing of it was set, and then a painter would take another.
    static QFont fontOf(const QTextItem& item)
    {
        QFont font = item.font();
        font.setResolveMask(QFont::AllPropertiesResolved);
        return font;
    }
    static QRectF withPen(const QRectF& rect, const QPen& pen)
    {
        const double half = pen.style() == Qt::NoPen ? 0 : std::max(1.0, pen.widthF()) / 2;
        return rect.adjusted(-half, -half, half, half);
    }
    static QPainterPath outline(const QPainterPath& path, const QPen& pen)
    {
        QPainterPathStroker stroker(pen);
        if (pen.widthF() <= 0)
            stroker.setWidth(1);
        return stroker.createStroke(path);
    }
    void fill(const QPainterPath& path, const QBrush& brush)
    {
        const QPen pen = m_out.pen();
        const QBrush before = m_out.brush();
        m_out.setPen(Qt::NoPen);
        m_out.setBrush(brush);
        m_out.drawPath(path);
        m_out.setBrush(before);
        m_out.setPen(pen);
    }
    /// The painter's own clip and that of the widget, on the device; a rectangle of the widget alone where the painter has none.
    const QPainterPath& deviceClip() const
    {
        if (m_clipKnown && m_system == systemClip())
            return m_clip;
        m_clipKnown = true;
        m_system = systemClip();
        m_clip = QPainterPath();
        m_clip.addRegion(m_system);
        if (painter()->hasClipping()) {
            const QPainterPath own = m_out.combinedTransform().map(painter()->clipPath()); // which knows where the widget is
            m_clip = m_system.isEmpty() ? own : own.intersected(m_clip);
        }
        return m_clip;
    }
    QPainterPath ownClip() const { return m_out.combinedTransform().inverted().map(deviceClip()); }
    Seen seen(const QRectF& reach) const
    {
        if (systemClip().isEmpty() && !painter()->hasClipping())
            return Seen::Whole;
        const QRectF shape = m_out.combinedTransform().mapRect(reach);
        const QPainterPath& clip = deviceClip();
        constexpr double kRounding = 0.01;
        const QRectF inner = shape.adjusted(kRounding, kRounding, -kRounding, -kRounding);
        if (!clip.boundingRect().intersects(shape))
            return Seen::Not;
        return clip.contains(inner) ? Seen::Whole : Seen::Part;
    }

    QPainter& m_out;
    mutable QPainterPath m_clip; ///< on the device
    mutable QRegion m_system; ///< that it was made with
    mutable bool m_clipKnown = false;
};

class ClippingDevice : public QPaintDevice {
public:
    ClippingDevice(QPainter& out, const QWidget* view)
        : m_engine(out)
        , m_view(view)
    {
    }
    QPaintEngine* paintEngine() const override { return &m_engine; }

protected:
    int metric(PaintDeviceMetric metric) const override
    {
        switch (metric) {
        case PdmWidth:
            return m_view->width();
        case PdmHeight:
            return m_view->height();
        case PdmDpiX:
        case PdmPhysicalDpiX:
            return m_view->logicalDpiX();
        case PdmDpiY:
        case PdmPhysicalDpiY:
            return m_view->logicalDpiY();
        case PdmDevicePixelRatio: // whatever the screen's is
            return 1;
        case PdmDepth:
            return 32;
        case PdmWidthMM:
            return m_view->widthMM();
        case PdmHeightMM:
            return m_view->heightMM();
        default:
            return QPaintDevice::metric(metric);
        }
    }

private:
    mutable ClippingEngine m_engine;
    const QWidget* m_view;
};

} // namespace

QByteArray svgOf(QWidget* view)
{
    QByteArray out;
    QBuffer buffer(&out);
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setResolution(view->logicalDpiX()); // sizes of text are told in points
    generator.setSize(view->size());
    generator.setViewBox(view->rect());
    generator.setTitle(xmlText(view->accessibleName()).toHtmlEscaped()); // it is written as it is
    QPainter written(&generator);
    ClippingDevice device(written, view);
    QPainter painter(&device);
    view->render(&painter);
    painter.end();
    written.end();
    return out;
}

} // namespace shardboard
