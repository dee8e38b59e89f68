// SPDX-License-Identifier: Apache-2.0
#include "tests/app/desktop/textroom.h"

#include <QAbstractItemView>
#include <QAbstractScrollArea>
#include <QBoxLayout>
#include <QFontMetricsF>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <QTableView>
#include <QTextEdit>
#include <QTreeView>

#include <algorithm>

namespace shardboard {

namespace {

constexpr double kTouching = 1; ///< pixels that letters may reach over: they are rounded to pixels
const QChar kDots(0x2026);

/// Notes the texts and draws nothing.
class NotingEngine : public QPaintEngine {
public:
    struct Note {
        QString text;
        QRectF ink;
        QRectF seen;
    };

    NotingEngine()
        : QPaintEngine(AllFeatures)
    {
    }
    bool begin(QPaintDevice*) override { return true; }
    bool end() override { return true; }
    Type type() const override { return User; }
    void updateState(const QPaintEngineState&) override { }
    void drawPath(const QPainterPath&) override { }
    void drawPolygon(const QPointF*, int, PolygonDrawMode) override { }
    void drawPolygon(const QPoint*, int, PolygonDrawMode) override { }
    void drawRects(const QRectF*, int) override { }
    void drawRects(const QRect*, int) override { }
    void drawLines(const QLineF*, int) override { }
    void drawLines(const QLine*, int) override { }
    void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override { }
    void drawImage(const QRectF&, const QImage&, const QRectF&, Qt::ImageConversionFlags) override { }
    void drawTiledPixmap(const QRectF&, const QPixmap&, const QPointF&) override { }

    void drawTextItem(const QPointF& at, const QTextItem& item) override
    {
        if (item.text().trimmed().isEmpty() || painter()->opacity() == 0 || painter()->pen().color().alpha() == 0)
            return;
        const QRectF letters = QFontMetricsF(item.font()).tightBoundingRect(item.text()).translated(at);
        const QTransform onDevice = painter()->combinedTransform();
        const QRectF ink = onDevice.mapRect(letters);
        QRectF seen = ink;
        if (!systemClip().isEmpty())
            seen &= systemClip().boundingRect();
        if (painter()->hasClipping())
            seen &= onDevice.map(painter()->clipPath()).boundingRect();
        notes.append({ item.text(), ink, seen });
    }

    QList<Note> notes;
};

class NotingDevice : public QPaintDevice {
public:
    explicit NotingDevice(const QWidget* widget)
        : m_widget(widget)
    {
    }
    QPaintEngine* paintEngine() const override { return &m_engine; }
    const QList<NotingEngine::Note>& notes() const { return m_engine.notes; }

protected:
    int metric(PaintDeviceMetric metric) const override
    {
        switch (metric) {
        case PdmWidth:
            return m_widget->width();
        case PdmHeight:
            return m_widget->height();
        case PdmDpiX:
        case PdmPhysicalDpiX:
            return m_widget->logicalDpiX();
        case PdmDpiY:
        case PdmPhysicalDpiY:
            return m_widget->logicalDpiY();
        case PdmDevicePixelRatio:
            return 1;
        case PdmDepth:
            return 32;
        default:
            return QPaintDevice::metric(metric);
        }
    }

private:
    mutable NotingEngine m_engine;
    const QWidget* m_widget;
};

QString describe(const QWidget* widget)
{
    QStringList path;
    for (const QWidget* at = widget; at != nullptr && path.size() < 3; at = at->parentWidget())
        if (!at->objectName().isEmpty() && !at->objectName().startsWith(QLatin1String("qt_")))
            path.prepend(at->objectName());
    return QString::fromLatin1(widget->metaObject()->className()).section(QStringLiteral("::"), -1) + QLatin1Char(' ')
        + path.join(QStringLiteral(" > "));
}

QString place(const QRectF& rect)
{
    return QStringLiteral("%1,%2 %3x%4")
        .arg(rect.x(), 0, 'f', 0)
        .arg(rect.y(), 0, 'f', 0)
        .arg(rect.width(), 0, 'f', 0)
        .arg(rect.height(), 0, 'f', 0);
}

const QAbstractScrollArea* scrollAreaOf(const QWidget* widget)
{
    for (const QWidget* at = widget; at != nullptr; at = at->parentWidget())
        if (const auto* area = qobject_cast<const QAbstractScrollArea*>(at))
            return area;
    return nullptr;
}

/// Where a scroll bar brings what is missing.
bool canScroll(const QWidget* widget, Qt::Orientation orientation)
{
    for (const QAbstractScrollArea* area = scrollAreaOf(widget); area != nullptr; area = scrollAreaOf(area->parentWidget())) {
        const QScrollBar* bar = orientation == Qt::Vertical ? area->verticalScrollBar() : area->horizontalScrollBar();
        if (bar->maximum() > bar->minimum() && (orientation == Qt::Vertical || bar->isVisible()))
            return true;
    }
    return false;
}

/// What people write may be longer than its field.
bool isField(const QWidget* widget) { return qobject_cast<const QLineEdit*>(widget) != nullptr; }

bool isElided(const QString& text) { return text.size() > 1 && text.contains(kDots); }

} // namespace

QList<PaintedText> paintedTexts(QWidget* window)
{
    QList<PaintedText> out;
    QList<QWidget*> parts = window->findChildren<QWidget*>();
    parts.prepend(window);
    for (QWidget* widget : parts) {
        if (!widget->isVisible() || widget->window() != window || widget->visibleRegion().isEmpty())
            continue;
        NotingDevice device(widget);
        QPainter painter(&device);
        widget->render(&painter, {}, {}, QWidget::RenderFlags());
        painter.end();
        const QPointF origin = widget->mapTo(window, QPoint());
        const QRectF area = QRectF(widget->visibleRegion().boundingRect()).translated(origin);
        for (const auto& note : device.notes()) {
            const QRectF seen = note.seen.translated(origin) & area;
            if (!seen.isEmpty())
                out.append({ widget, note.text, note.ink.translated(origin), seen, area });
        }
    }
    return out;
}

QStringList cutTexts(const QList<PaintedText>& texts)
{
    QStringList out;
    for (const PaintedText& it : texts) {
        const double sideways = std::max(it.seen.left() - it.ink.left(), it.ink.right() - it.seen.right());
        const double upright = std::max(it.seen.top() - it.ink.top(), it.ink.bottom() - it.seen.bottom());
        const bool wide = sideways > kTouching && !isField(it.widget) && !canScroll(it.widget, Qt::Horizontal);
        const bool high = upright > kTouching && !canScroll(it.widget, Qt::Vertical);
        if (wide || high)
            out << QStringLiteral("cut %1: “%2” by %3 at %4 in %5")
                       .arg(describe(it.widget), it.text.left(60))
                       .arg(wide ? sideways : upright, 0, 'f', 1)
                       .arg(place(it.ink), place(it.area));
    }
    return out;
}

QStringList overlappingTexts(const QList<PaintedText>& texts)
{
    QStringList out;
    for (qsizetype i = 0; i < texts.size(); ++i)
        for (qsizetype j = i + 1; j < texts.size(); ++j) {
            const PaintedText& a = texts[i];
            const PaintedText& b = texts[j];
            const QRectF both = a.seen & b.seen;
            if (both.width() <= kTouching || both.height() <= kTouching)
                continue;
            if (a.widget == b.widget && a.text == b.text && (a.ink.topLeft() - b.ink.topLeft()).manhattanLength() < 4)
                continue; // a rim around the letters
            out << QStringLiteral("overlap %1: “%2” at %3 and %4: “%5” at %6")
                       .arg(describe(a.widget), a.text.left(40), place(a.ink), describe(b.widget), b.text.left(40), place(b.ink));
        }
    return out;
}

namespace {

QHeaderView* columnsOf(const QAbstractItemView* view)
{
    if (const auto* table = qobject_cast<const QTableView*>(view))
        return table->horizontalHeader();
    if (const auto* tree = qobject_cast<const QTreeView*>(view))
        return tree->header();
    return nullptr;
}

/// Pixels that a column has beyond what its rows in sight and its heading ask for.
int spare(const QAbstractItemView* view, const QHeaderView* header, int column)
{
    const int wanted = std::max(view->sizeHintForColumn(column), header->isVisible() ? header->sectionSizeHint(column) : 0);
    return header->sectionSize(column) - wanted;
}

} // namespace

QStringList needlesslyElided(QWidget* window, const QList<PaintedText>& texts)
{
    constexpr int kWorthIt = 12; // pixels: about a letter and a half
    QStringList out;
    for (const PaintedText& it : texts) {
        if (!isElided(it.text))
            continue;
        const auto* view = qobject_cast<const QAbstractItemView*>(it.widget->parentWidget());
        if (view != nullptr && view->viewport() == it.widget) {
            QHeaderView* header = columnsOf(view);
            if (header == nullptr)
                continue;
            const int x = static_cast<int>(it.ink.center().x()) - it.widget->mapTo(window, QPoint()).x();
            const int column = header->logicalIndexAt(x);
            for (int other = 0; other < header->count(); ++other)
                if (other != column && !header->isSectionHidden(other) && spare(view, header, other) > kWorthIt)
                    out << QStringLiteral("elided %1: “%2” while column %3 has %4 pixels to spare")
                               .arg(describe(view), it.text.left(60))
                               .arg(other)
                               .arg(spare(view, header, other));
            continue;
        }
        const QWidget* parent = it.widget->parentWidget();
        const auto* row = parent != nullptr ? qobject_cast<const QBoxLayout*>(parent->layout()) : nullptr;
        if (row == nullptr || row->direction() > QBoxLayout::RightToLeft || row->indexOf(const_cast<QWidget*>(it.widget)) < 0)
            continue;
        int free = 0;
        for (int i = 0; i < row->count(); ++i) {
            QLayoutItem* item = row->itemAt(i);
            if (item->widget() == it.widget || (item->widget() != nullptr && item->widget()->isHidden()))
                continue;
            const int wanted = item->spacerItem() != nullptr ? item->minimumSize().width() : item->sizeHint().width();
            free += std::max(0, item->geometry().width() - wanted);
        }
        if (free > kWorthIt)
            out << QStringLiteral("elided %1: “%2” while its neighbors have %3 pixels to spare")
                       .arg(describe(it.widget), it.text.left(60))
                       .arg(free);
    }
    return out;
}

} // namespace shardboard
