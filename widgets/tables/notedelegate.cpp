// SPDX-License-Identifier: Apache-2.0
#include "widgets/tables/notedelegate.h"

#include "widgets/controls/wrappedlabel.h"
#include "widgets/look/theme.h"

#include <QHeaderView>
#include <QPainter>
#include <QTreeView>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kSide = 8; ///< free at both sides of a row
constexpr int kAbove = 6; ///< free above and below its lines
constexpr int kAboveText = 3; ///< the same for a row without a title, which belongs to the one above
constexpr int kLineGap = 1;
constexpr int kWrap = Qt::TextWordWrap | Qt::AlignLeft | Qt::AlignTop;

struct Lines {
    QString title;
    QString text;
    QFont titleFont;
    QFont textFont;
    int indent = 0;
};

Lines linesOf(const QWidget* widget, const QModelIndex& index)
{
    return { index.data(NoteDelegate::TitleRole).toString(), breakable(index.data(NoteDelegate::TextRole).toString()),
             uiFont(widget, 0, true), uiFont(widget, -0.5), index.data(NoteDelegate::IndentRole).toInt() };
}

QColor colorOf(const QModelIndex& index, int role, const QColor& fallback)
{
    const QVariant color = index.data(role);
    return color.isValid() ? color.value<QColor>() : fallback;
}

} // namespace

NoteDelegate::NoteDelegate(QAbstractItemView* view)
    : QStyledItemDelegate(view)
    , m_view(view)
{
    // Texts wrap anew in another width; the view listens to this signal and lays its rows out again.
    if (auto* tree = qobject_cast<QTreeView*>(view))
        connect(tree->header(), &QHeaderView::sectionResized, this, [this] { Q_EMIT sizeHintChanged({}); });
}

QSize NoteDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const
{
    const Lines lines = linesOf(m_view, index);
    const auto* tree = qobject_cast<const QTreeView*>(m_view);
    const int column = tree ? tree->columnWidth(index.column()) : m_view->viewport()->width();
    const int width = std::max(80, column - 2 * kSide - lines.indent);
    int height = 2 * (lines.title.isEmpty() ? kAboveText : kAbove);
    if (!lines.title.isEmpty())
        height += QFontMetrics(lines.titleFont).height();
    if (!lines.text.isEmpty())
        height += QFontMetrics(lines.textFont).boundingRect(QRect(0, 0, width, 10000), kWrap, lines.text).height()
            + (lines.title.isEmpty() ? 0 : kLineGap);
    return { 120, lines.title.isEmpty() ? height : std::max(kRowHeight, height) };
}

void NoteDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const Theme& theme = Theme::of(m_view);
    const Lines lines = linesOf(m_view, index);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    if (option.state & QStyle::State_Selected)
        painter->fillRect(option.rect, theme.selection);
    if ((option.state & QStyle::State_HasFocus) && m_view->hasFocus()) {
        painter->setPen(QPen(theme.accent, 1));
        painter->setBrush(Qt::NoBrush);
        painter->drawRoundedRect(QRectF(option.rect).adjusted(0.5, 1.5, -0.5, -1.5), kCornerRadius, kCornerRadius);
    }
    const int above = lines.title.isEmpty() ? kAboveText : kAbove;
    QRect room = option.rect.adjusted(kSide + lines.indent, above, -kSide, -above);
    if (!lines.title.isEmpty()) {
        const QFontMetrics metrics(lines.titleFont);
        painter->setFont(lines.titleFont);
        painter->setPen(colorOf(index, TitleColorRole, theme.text));
        const QRect line(room.left(), lines.text.isEmpty() ? room.center().y() - metrics.height() / 2 : room.top(), room.width(),
                         metrics.height());
        painter->drawText(line, Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(lines.title, Qt::ElideRight, room.width()));
        room.setTop(line.bottom() + 1 + kLineGap);
    }
    if (!lines.text.isEmpty()) {
        painter->setFont(lines.textFont);
        painter->setPen(colorOf(index, TextColorRole, theme.quiet));
        painter->drawText(room, lines.title.isEmpty() ? Qt::TextWordWrap | Qt::AlignLeft | Qt::AlignVCenter : kWrap, lines.text);
    }
    painter->restore();
}

} // namespace shardboard
