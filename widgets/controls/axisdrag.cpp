// SPDX-License-Identifier: Apache-2.0
#include "widgets/controls/axisdrag.h"

#include "widgets/look/theme.h"

#include <QApplication>
#include <QDrag>
#include <QKeyEvent>
#include <QMimeData>
#include <QPainter>
#include <QPixmap>
#include <QPointer>
#include <QTimer>
#include <QVariant>
#include <QWidget>

namespace shardboard {

namespace {

constexpr char kSource[] = "axisSource";

}

QMimeData* axisMimeData(const QString& axis, QWidget* source)
{
    auto* data = new QMimeData;
    data->setData(QLatin1String(kAxisMimeType), axis.toUtf8());
    data->setText(axis);
    data->setProperty(kSource, QVariant::fromValue(QPointer<QWidget>(source)));
    return data;
}

QWidget* axisSource(const QMimeData* data) { return data ? data->property(kSource).value<QPointer<QWidget>>().data() : nullptr; }

QString axisFromMimeData(const QMimeData* data)
{
    if (!data || !data->hasFormat(QLatin1String(kAxisMimeType)))
        return {};
    return QString::fromUtf8(data->data(QLatin1String(kAxisMimeType)).left(256));
}

namespace {

/// While something is dragged, undo and redo let go of it and do nothing else: the drag's own loop hears no shortcut.
class UndoCancels : public QObject {
public:
    bool eventFilter(QObject*, QEvent* event) override
    {
        if (event->type() != QEvent::KeyPress && event->type() != QEvent::ShortcutOverride)
            return false;
        const auto* key = static_cast<QKeyEvent*>(event);
        if (!key->matches(QKeySequence::Undo) && !key->matches(QKeySequence::Redo))
            return false;
        event->accept();
        QDrag::cancel();
        return true;
    }
};

} // namespace

void dragAxis(QWidget* source, const QString& axis, const QColor& color)
{
    const QFont font = monoFont(source);
    const QSize size(QFontMetrics(font).horizontalAdvance(axis) + 24, 24);
    QPixmap picture(size * source->devicePixelRatioF());
    picture.setDevicePixelRatio(source->devicePixelRatioF());
    picture.fill(Qt::transparent);
    {
        QPainter painter(&picture);
        paintChip(painter, QRectF(QPointF(0, 0), size), axis, color, source, font);
    }
    auto* drag = new QDrag(source);
    drag->setMimeData(axisMimeData(axis, source));
    drag->setPixmap(picture);
    drag->setHotSpot(QPoint(size.width() / 2, size.height() / 2));
    UndoCancels keys;
    // Once the drag has its loop, so that this filter is asked before the drag's.
    QTimer::singleShot(0, &keys, [&keys] { qApp->installEventFilter(&keys); });
    drag->exec(Qt::CopyAction);
}

void paintChip(QPainter& painter, const QRectF& rect, const QString& text, const QColor& color, const QWidget* widget,
               const QFont& font)
{
    const Theme& theme = Theme::of(widget);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(color, 1.5));
    painter.setBrush(blended(theme.panel, color, theme.isDark ? 0.28 : 0.20));
    const QRectF inner = rect.adjusted(0.75, 0.75, -0.75, -0.75);
    painter.drawRoundedRect(inner, inner.height() / 2, inner.height() / 2);
    painter.setPen(theme.text);
    painter.setFont(font);
    painter.drawText(rect, Qt::AlignCenter, text);
    painter.restore();
}

} // namespace shardboard
