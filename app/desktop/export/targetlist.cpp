// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/export/targetlist.h"

#include "app/desktop/export/targetstates.h"
#include "widgets/controls/viewheader.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/tablecopy.h"

#include <QListWidget>
#include <QPainter>
#include <QPainterPath>
#include <QSignalBlocker>
#include <QStyledItemDelegate>

#include <algorithm>

namespace shardboard {

namespace {

using Kind = TargetState::Kind;

constexpr int kTitleRole = Qt::UserRole;
constexpr int kStateRole = Qt::UserRole + 1;
constexpr int kFileRole = Qt::UserRole + 2;
constexpr int kKindRole = Qt::UserRole + 3;
constexpr int kSign = 16; ///< pixels, in text of 10 points
constexpr int kSide = 12;

QColor colorOf(Kind kind, const Theme& theme)
{
    return kind == Kind::Proven ? theme.good
        : kind == Kind::Refused ? theme.attention
        : kind == Kind::Differs ? theme.error
                                : theme.quiet;
}

/// Full disc with a tick, ring, triangle, disc with a cross; dots while nothing is known.
void paintSign(QPainter& painter, const QRectF& at, Kind kind, const Theme& theme)
{
    const QColor color = colorOf(kind, theme);
    const double unit = at.width() / 16;
    const auto point = [&](double x, double y) { return at.topLeft() + QPointF(x, y) * unit; };
    const bool full = kind == Kind::Proven || kind == Kind::Differs;
    painter.setPen(full ? QPen(Qt::NoPen) : QPen(color, 1.5 * unit));
    painter.setBrush(full ? QBrush(color) : QBrush(Qt::NoBrush));
    if (kind == Kind::Refused) {
        painter.setPen(QPen(color, 1.5 * unit, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter.drawPolygon(QPolygonF({ point(8, 1.5), point(15, 14), point(1, 14) }));
        painter.drawLine(point(8, 6), point(8, 9.5));
        painter.drawPoint(point(8, 12));
        return;
    }
    if (kind == Kind::Unknown)
        painter.setPen(QPen(color, 1.5 * unit, Qt::DotLine));
    painter.drawEllipse(at.adjusted(unit, unit, -unit, -unit));
    if (!full)
        return;
    painter.setPen(QPen(theme.panel, 1.8 * unit, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.setBrush(Qt::NoBrush);
    if (kind == Kind::Proven) {
        painter.drawPolyline(QPolygonF({ point(4.5, 8.2), point(7, 10.7), point(11.5, 5.5) }));
    } else {
        painter.drawLine(point(5.3, 5.3), point(10.7, 10.7));
        painter.drawLine(point(5.3, 10.7), point(10.7, 5.3));
    }
}

class TargetDelegate : public QStyledItemDelegate {
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
        const auto kind = static_cast<Kind>(index.data(kKindRole).toInt());
        const bool selected = (option.state & QStyle::State_Selected) != 0;
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        const QRect rect = option.rect;
        if (option.state & (QStyle::State_Selected | QStyle::State_MouseOver)) {
            QColor fill = theme.selection;
            fill.setAlphaF(selected ? 1.0F : 0.45F);
            painter->setPen(Qt::NoPen);
            painter->setBrush(fill);
            painter->drawRoundedRect(rect.adjusted(4, 1, -4, -1), kCornerRadius, kCornerRadius);
        }
        if ((option.state & QStyle::State_HasFocus) && widget->hasFocus()) {
            painter->setPen(QPen(theme.accent, 1));
            painter->setBrush(Qt::NoBrush);
            painter->drawRoundedRect(QRectF(rect).adjusted(4.5, 1.5, -4.5, -1.5), kCornerRadius, kCornerRadius);
        }
        const int sign = static_cast<int>(kSign * textScale(widget));
        paintSign(*painter, QRectF(rect.left() + kSide, rect.center().y() - sign / 2.0 + 0.5, sign, sign), kind, theme);
        const QFont titleFont = uiFont(widget, 0, selected);
        const QFont stateFont = uiFont(widget, -0.5);
        const QFont fileFont = monoFont(widget, -1.5);
        const int height = QFontMetrics(titleFont).height();
        const int top = rect.top() + (rect.height() - height - QFontMetrics(stateFont).height() - 1) / 2;
        const QRect upper(rect.left() + kSide + sign + 10, top, rect.width() - 2 * kSide - sign - 10, height);
        const QRect lower(upper.left(), upper.bottom() + 2, upper.width(), QFontMetrics(stateFont).height());
        const QString title = index.data(kTitleRole).toString();
        const QString file = index.data(kFileRole).toString();
        const int titleWidth = QFontMetrics(titleFont).horizontalAdvance(title);
        painter->setFont(titleFont);
        painter->setPen(theme.text);
        painter->drawText(upper, Qt::AlignLeft | Qt::AlignVCenter,
                          QFontMetrics(titleFont).elidedText(title, Qt::ElideRight, upper.width()));
        if (titleWidth + 12 + QFontMetrics(fileFont).horizontalAdvance(file) <= upper.width()) {
            painter->setFont(fileFont);
            painter->setPen(theme.quiet);
            painter->drawText(upper, Qt::AlignRight | Qt::AlignVCenter, file);
        }
        painter->setFont(stateFont);
        painter->setPen(kind == Kind::Refused || kind == Kind::Differs ? colorOf(kind, theme) : theme.quiet);
        painter->drawText(lower, Qt::AlignLeft | Qt::AlignVCenter,
                          QFontMetrics(stateFont).elidedText(index.data(kStateRole).toString(), Qt::ElideRight, lower.width()));
        painter->restore();
    }
};

} // namespace

TargetList::TargetList(TargetStates* states, QWidget* parent)
    : QWidget(parent)
    , m_states(states)
    , m_header(new ViewHeader(tr("Targets"), this))
    , m_list(new QListWidget(this))
{
    setObjectName(QStringLiteral("targetsView"));
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    nameWidget(m_list, "targetList", tr("Targets"));
    m_list->setItemDelegate(new TargetDelegate(m_list));
    m_list->setMouseTracking(true);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    makeCopyable(m_list);
    m_header->setDetail(countText(static_cast<std::int64_t>(states->targets().size())));
    for (const ExportTarget& target : states->targets()) {
        auto* item = new QListWidgetItem(m_list);
        item->setData(kTitleRole, qstr(target.title));
        item->setData(kFileRole, qstr(target.check));
        item->setToolTip(qstr(target.title + ": " + target.summary));
    }
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addWidget(m_header);
    column->addWidget(m_list, 1);
    connect(m_list, &QListWidget::currentRowChanged, this, [this](int row) {
        if (row >= 0)
            m_states->setCurrent(static_cast<std::size_t>(row));
    });
    connect(states, &TargetStates::changed, this, &TargetList::showStates);
    connect(states, &TargetStates::currentChanged, this, &TargetList::showStates);
    showStates();
}

QSize TargetList::sizeHint() const
{
    return { 240,
             m_header->sizeHint().height() + std::max(1, m_list->count()) * std::max(kTwoLineRowHeight, m_list->sizeHintForRow(0))
                 + 8 };
}

void TargetList::showStates()
{
    const QSignalBlocker quiet(m_list);
    for (int row = 0; row < m_list->count(); ++row) {
        const TargetState state = m_states->state(static_cast<std::size_t>(row));
        QListWidgetItem* item = m_list->item(row);
        const QString text = state.text();
        item->setData(kStateRole, text);
        item->setData(kKindRole, static_cast<int>(state.kind()));
        item->setData(Qt::AccessibleTextRole, item->data(kTitleRole).toString() + QStringLiteral(": ") + text);
    }
    m_list->setCurrentRow(static_cast<int>(m_states->current()));
}

void TargetList::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    m_states->watch(this, true);
}

void TargetList::hideEvent(QHideEvent* event)
{
    QWidget::hideEvent(event);
    m_states->watch(this, false);
}

} // namespace shardboard
