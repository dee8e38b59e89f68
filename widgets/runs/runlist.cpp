// SPDX-License-Identifier: Apache-2.0
#include "widgets/runs/runlist.h"

#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/tablecopy.h"

#include <QPainter>
#include <QStyledItemDelegate>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kRunSign = 16; ///< pixels, in text of 10 points
constexpr int kRunSide = 12;
constexpr int kRunGap = 10;

/// Full disc with a tick, ring, disc with a cross, dotted ring.
void paintRunSign(QPainter& painter, const QRectF& at, RunList::Sign sign, const Theme& theme)
{
    const double unit = at.width() / 16;
    const auto point = [&](double x, double y) { return at.topLeft() + QPointF(x, y) * unit; };
    const bool full = sign == RunList::Sign::Verified || sign == RunList::Sign::Wrong;
    const QColor color = sign == RunList::Sign::Verified ? theme.good : sign == RunList::Sign::Wrong ? theme.error : theme.quiet;
    painter.setPen(full ? QPen(Qt::NoPen) : QPen(color, 1.5 * unit, sign == RunList::Sign::Damaged ? Qt::DotLine : Qt::SolidLine));
    painter.setBrush(full ? QBrush(color) : QBrush(Qt::NoBrush));
    painter.drawEllipse(at.adjusted(unit, unit, -unit, -unit));
    if (!full)
        return;
    painter.setPen(QPen(theme.panel, 1.8 * unit, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.setBrush(Qt::NoBrush);
    if (sign == RunList::Sign::Verified) {
        painter.drawPolyline(QPolygonF({ point(4.5, 8.2), point(7, 10.7), point(11.5, 5.5) }));
    } else {
        painter.drawLine(point(5.3, 5.3), point(10.7, 10.7));
        painter.drawLine(point(5.3, 10.7), point(10.7, 5.3));
    }
}

class RunDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override
    {
        return { 160, std::max(kTwoLineRowHeight, 2 * option.fontMetrics.height() + 8) };
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const QWidget* widget = option.widget;
        const Theme& theme = Theme::of(widget);
        const bool selected = (option.state & QStyle::State_Selected) != 0;
        const bool shown = index.data(RunList::kShownRole).toBool();
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        const QRectF around = QRectF(option.rect).adjusted(4.5, 1.5, -4.5, -1.5);
        if (option.state & (QStyle::State_Selected | QStyle::State_MouseOver)) {
            QColor fill = theme.selection;
            fill.setAlphaF(selected ? 1.0F : 0.45F);
            painter->setPen(Qt::NoPen);
            painter->setBrush(fill);
            painter->drawRoundedRect(around, kCornerRadius, kCornerRadius);
        }
        if ((option.state & QStyle::State_HasFocus) && widget->hasFocus()) {
            painter->setPen(QPen(theme.accent, 1));
            painter->setBrush(Qt::NoBrush);
            painter->drawRoundedRect(around, kCornerRadius, kCornerRadius);
        }
        const auto sign = static_cast<RunList::Sign>(index.data(RunList::kSignRole).toInt());
        const double side = signSize(widget);
        paintRunSign(*painter, QRectF(option.rect.left() + kRunSide, QRectF(option.rect).center().y() - side / 2, side, side), sign,
                     theme);
        const QFont titleFont = uiFont(widget, 0, shown);
        const QFont valueFont = monoFont(widget, -0.5);
        const QFont lowFont = uiFont(widget, -1);
        const auto [upper, lower] = lines(option, titleFont, lowFont);
        const bool wrong = sign == RunList::Sign::Wrong;
        line(*painter, upper, index.data(RunList::kTitleRole).toString(), titleFont, theme.text,
             index.data(RunList::kValueRole).toString(), valueFont, theme.text);
        line(*painter, lower, index.data(RunList::kWhatRole).toString(), lowFont, theme.quiet,
             index.data(RunList::kStateRole).toString(), lowFont,
             wrong                                 ? theme.error
                 : sign == RunList::Sign::Verified ? theme.good
                                                   : theme.quiet);
        painter->restore();
    }

    /// The field lies over the title.
    void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option, const QModelIndex&) const override
    {
        const auto [upper, lower] = lines(option, uiFont(option.widget), uiFont(option.widget, -1));
        const int height = std::max(editor->sizeHint().height(), upper.height());
        editor->setGeometry(QRect(upper.left() - 4, option.rect.top() + 2, upper.width() + 4, height));
    }

private:
    static int signSize(const QWidget* widget) { return static_cast<int>(kRunSign * textScale(widget)); }

    static std::pair<QRect, QRect> lines(const QStyleOptionViewItem& option, const QFont& title, const QFont& low)
    {
        const int side = signSize(option.widget);
        const int height = QFontMetrics(title).height();
        const int lowHeight = QFontMetrics(low).height();
        const int top = option.rect.top() + (option.rect.height() - height - lowHeight - 1) / 2;
        const QRect upper(option.rect.left() + kRunSide + side + kRunGap, top, option.rect.width() - 2 * kRunSide - side - kRunGap,
                          height);
        return { upper, QRect(upper.left(), upper.bottom() + 2, upper.width(), lowHeight) };
    }

    /// The right text is whole; the left one is elided.
    static void line(QPainter& painter, const QRect& at, const QString& left, const QFont& leftFont, const QColor& leftColor,
                     const QString& right, const QFont& rightFont, const QColor& rightColor)
    {
        const int taken = right.isEmpty() ? 0 : QFontMetrics(rightFont).horizontalAdvance(right) + 8;
        painter.setFont(leftFont);
        painter.setPen(leftColor);
        painter.drawText(at, Qt::AlignLeft | Qt::AlignVCenter,
                         QFontMetrics(leftFont).elidedText(left, Qt::ElideMiddle, std::max(0, at.width() - taken)));
        painter.setFont(rightFont);
        painter.setPen(rightColor);
        painter.drawText(at, Qt::AlignRight | Qt::AlignVCenter, right);
    }
};

} // namespace

RunList::RunList(QWidget* parent)
    : QListWidget(parent)
{
    setItemDelegate(new RunDelegate(this));
    setMouseTracking(true);
    setSelectionMode(QAbstractItemView::ExtendedSelection);
    setEditTriggers(QAbstractItemView::EditKeyPressed);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setFrameShape(QFrame::NoFrame);
    setContextMenuPolicy(Qt::CustomContextMenu);
    makeCopyable(this);
}

} // namespace shardboard
