// SPDX-License-Identifier: Apache-2.0
#include "widgets/weights/weightdelegate.h"

#include "widgets/look/elidedpath.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/weights/weightmodel.h"

#include <QPainter>
#include <QPolygonF>
#include <QWidget>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kSide = 24;
constexpr int kRight = 10;

/// Smaller before it is cut short.
void paintName(QPainter* painter, const QRect& room, const QString& name, const QWidget* widget, bool bold)
{
    QFont fitted = uiFont(widget, 0, bold);
    for (const double smaller : { 0.0, -1.0, -2.0 })
        if (const QFont font = uiFont(widget, smaller, bold); QFontMetrics(font).horizontalAdvance(name) <= room.width()) {
            fitted = font;
            break;
        }
    painter->setFont(fitted);
    painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter, elidedPath(name, QFontMetrics(fitted), room.width()));
}

void paintGroup(QPainter* painter, const QRect& rect, const QModelIndex& index, const QWidget* widget, bool open)
{
    const Theme& theme = Theme::of(widget);
    painter->setFont(monoFont(widget, -1));
    painter->setPen(theme.quiet);
    const QString bytes = bytesText(index.data(WeightModel::BytesPerDeviceRole).toLongLong());
    painter->drawText(rect.adjusted(0, 0, -kRight, 0), Qt::AlignRight | Qt::AlignVCenter, bytes);
    const int bytesWidth = painter->fontMetrics().horizontalAdvance(bytes);
    painter->setFont(uiFont(widget));
    const QPointF centre(rect.left() + WeightDelegate::kIndent / 2.0, rect.center().y() + 0.5);
    painter->setPen(QPen(theme.quiet, 1.5));
    if (open)
        painter->drawPolyline(QPolygonF({ centre + QPointF(-4, -2), centre + QPointF(0, 2), centre + QPointF(4, -2) }));
    else
        painter->drawPolyline(QPolygonF({ centre + QPointF(-2, -4), centre + QPointF(2, 0), centre + QPointF(-2, 4) }));
    painter->setPen(theme.text);
    const QRect room = rect.adjusted(WeightDelegate::kIndent, 0, -kRight - bytesWidth - 6, 0);
    paintName(painter, room, index.data().toString(), widget, false);
}

} // namespace

WeightDelegate::WeightDelegate(QObject* parent)
    : QStyledItemDelegate(parent)
{
}

QSize WeightDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const int line = option.fontMetrics.height();
    if (index.data(WeightModel::WeightRole).toInt() < 0)
        return { 120, std::max(kRowHeight, line + 8) };
    return { 160, std::max(kTwoLineRowHeight, 2 * line + 8) };
}

void WeightDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const QWidget* widget = option.widget;
    const Theme& theme = Theme::of(widget);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRect rect = option.rect;
    if (option.state & (QStyle::State_Selected | QStyle::State_MouseOver)) {
        QColor fill = theme.selection;
        if (!(option.state & QStyle::State_Selected))
            fill.setAlphaF(0.45f);
        painter->setPen(Qt::NoPen);
        painter->setBrush(fill);
        painter->drawRoundedRect(rect.adjusted(0, 1, -4, -1), kCornerRadius, kCornerRadius);
    }
    if ((option.state & QStyle::State_HasFocus) && widget && widget->hasFocus()) {
        painter->setPen(QPen(theme.accent, 1));
        painter->setBrush(Qt::NoBrush);
        painter->drawRoundedRect(QRectF(rect).adjusted(0.5, 1.5, -4.5, -1.5), kCornerRadius, kCornerRadius);
    }
    if (index.data(WeightModel::WeightRole).toInt() < 0) {
        paintGroup(painter, rect, index, widget, (option.state & QStyle::State_Open) != 0);
        painter->restore();
        return;
    }
    const auto replicated = static_cast<WeightModel::Mark>(index.data(WeightModel::ReplicatedRole).toInt());
    const bool marked = replicated != WeightModel::Mark::None;
    const QColor markColor = replicated == WeightModel::Mark::Attention ? theme.attention : theme.quiet;
    const QFont nameFont = uiFont(widget, 0, (option.state & QStyle::State_Selected) != 0);
    const QFont smallFont = monoFont(widget, -1.5);
    const QFontMetrics nameMetrics(nameFont);
    const QFontMetrics smallMetrics(smallFont);
    const int top = rect.top() + (rect.height() - nameMetrics.height() - smallMetrics.height() - 1) / 2;
    const int left = 8 + (index.parent().isValid() ? kIndent - 6 : 0);
    const QRect upper(rect.left() + left, top, rect.width() - left - kRight, nameMetrics.height());
    const QRect lower(upper.left(), upper.bottom() + 2, upper.width(), smallMetrics.height());
    const qlonglong amount = index.data(WeightModel::BytesPerDeviceRole).toLongLong();
    const QString bytes = amount < 0 ? QStringLiteral("–") : bytesText(amount);
    const int ownWidth = smallMetrics.horizontalAdvance(bytes);
    const int bytesWidth = std::max(smallMetrics.horizontalAdvance(QStringLiteral("0.888 GiB")), ownWidth);
    const int beside = upper.right() - bytesWidth - 8 - kSide - upper.left();
    // In a narrow list the thumbnail stands in the lower line, so that names have all of the upper one.
    const int indented = rect.right() - kRight - bytesWidth - 8 - kSide - 8 - kIndent; // the same for all rows
    const bool narrow = indented < QFontMetrics(uiFont(widget)).horizontalAdvance(QStringLiteral("self_attn.qkv_proj"));
    const int side = narrow ? std::min(kSide, lower.height()) : kSide;
    const int thumbLeft = narrow ? lower.right() - ownWidth - 6 - side : upper.left() + beside;
    const QString shape = index.data(WeightModel::ShapeRole).toString();
    const QString compact = QString(shape).remove(QLatin1Char(' ')); // where there is little room
    const bool pictured =
        smallMetrics.horizontalAdvance(narrow ? shape : compact) <= thumbLeft - lower.left() - 4; // numbers come first

    const int nameRoom = narrow ? upper.width() : beside - 6;
    painter->setPen(theme.text);
    paintName(painter, QRect(upper.topLeft(), QSize(nameRoom, upper.height())), index.data().toString(), widget, nameFont.bold());
    const QFont markFont = uiFont(widget, -1.5, true);
    const QString mark = marked ? tr("replicated") : QString();
    const int markWidth = marked ? QFontMetrics(markFont).horizontalAdvance(mark) : 0;
    if (marked && !narrow && markWidth <= upper.right() - thumbLeft - kSide - 4) {
        painter->setFont(markFont);
        painter->setPen(markColor);
        painter->drawText(upper, Qt::AlignRight | Qt::AlignVCenter, mark);
    }
    painter->setFont(smallFont);
    painter->setPen(theme.quiet);
    const int shapeRoom = (pictured ? thumbLeft : lower.right() - ownWidth) - lower.left() - 4;
    painter->drawText(
        lower, Qt::AlignLeft | Qt::AlignVCenter,
        smallMetrics.elidedText(smallMetrics.horizontalAdvance(shape) <= shapeRoom ? shape : compact, Qt::ElideRight, shapeRoom));
    painter->setPen(marked ? markColor : theme.quiet);
    painter->drawText(lower, Qt::AlignRight | Qt::AlignVCenter, bytes);
    const QRectF thumb(thumbLeft, narrow ? lower.top() : rect.top() + (rect.height() - side) / 2, side, side);
    if (pictured)
        painter->drawImage(thumb, index.data(WeightModel::ThumbnailRole).value<QImage>());
    if (marked && pictured) {
        painter->setPen(QPen(markColor, 1.5));
        painter->setBrush(Qt::NoBrush);
        painter->drawRoundedRect(thumb.adjusted(0.75, 0.75, -0.75, -0.75), 2, 2);
    }
    painter->restore();
}

} // namespace shardboard
