// SPDX-License-Identifier: Apache-2.0
#include "widgets/controls/choicebox.h"

#include "widgets/look/theme.h"

#include <QAbstractItemView>
#include <QPainter>
#include <QSignalBlocker>
#include <QStyledItemDelegate>
#include <QWheelEvent>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kDetailRole = Qt::UserRole + 1;
constexpr int kMargin = 8;
constexpr int kArrow = 18;

/// The two lines of an entry, or its one line in the middle; eliding is the last resort of a narrow panel.
void paintEntry(QPainter& painter, const QRect& rect, const QString& text, const QString& detail, const QWidget* widget,
                bool enabled)
{
    const Theme& theme = Theme::of(widget);
    const QFont font = uiFont(widget);
    const QFont small = uiFont(widget, -1);
    const QFontMetrics metrics(font);
    const QFontMetrics smallMetrics(small);
    const int height = metrics.height() + (detail.isEmpty() ? 0 : smallMetrics.height() + 1);
    const int top = rect.top() + (rect.height() - height) / 2;
    painter.setFont(font);
    painter.setPen(enabled ? theme.text : theme.quiet);
    painter.drawText(QRect(rect.left(), top, rect.width(), metrics.height()), Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(text, Qt::ElideRight, rect.width()));
    if (detail.isEmpty())
        return;
    painter.setFont(small);
    painter.setPen(theme.quiet);
    painter.drawText(QRect(rect.left(), top + metrics.height() + 1, rect.width(), smallMetrics.height()),
                     Qt::AlignLeft | Qt::AlignVCenter, smallMetrics.elidedText(detail, Qt::ElideRight, rect.width()));
}

class ChoiceDelegate : public QStyledItemDelegate {
public:
    explicit ChoiceDelegate(QComboBox* box)
        : QStyledItemDelegate(box)
        , m_box(box)
    {
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const Theme& theme = Theme::of(m_box);
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        if (option.state & (QStyle::State_Selected | QStyle::State_MouseOver)) {
            painter->setPen(Qt::NoPen);
            painter->setBrush(theme.selection);
            painter->drawRoundedRect(option.rect.adjusted(2, 1, -2, -1), 4, 4);
        }
        paintEntry(*painter, option.rect.adjusted(kMargin, 0, -kMargin, 0), index.data().toString(),
                   index.data(kDetailRole).toString(), m_box, index.flags().testFlag(Qt::ItemIsEnabled));
        painter->restore();
    }

    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override
    {
        const QFontMetrics metrics(uiFont(m_box));
        const QFontMetrics small(uiFont(m_box, -1));
        const QString detail = index.data(kDetailRole).toString();
        const int width = std::max(metrics.horizontalAdvance(index.data().toString()), small.horizontalAdvance(detail));
        const int lines = metrics.height() + (detail.isEmpty() ? 0 : small.height() + 1);
        return { width + 2 * kMargin + 4, std::max(kRowHeight, lines + 8) };
    }

private:
    QComboBox* m_box;
};

} // namespace

ChoiceBox::ChoiceBox(bool twoLines, QWidget* parent)
    : QComboBox(parent)
    , m_twoLines(twoLines)
{
    setItemDelegate(new ChoiceDelegate(this));
    setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setFocusPolicy(Qt::StrongFocus);
    setMaxVisibleItems(16);
}

void ChoiceBox::addChoice(const QString& text, const QString& detail, const QVariant& value)
{
    addItem(text, value);
    setDetail(count() - 1, detail);
}

void ChoiceBox::setDetail(int index, const QString& detail)
{
    const QString text = itemText(index);
    setItemData(index, detail, kDetailRole);
    setItemData(index, detail.isEmpty() ? text : text + QStringLiteral(", ") + detail, Qt::AccessibleTextRole);
}

QString ChoiceBox::detail(int index) const { return itemData(index, kDetailRole).toString(); }

void ChoiceBox::choose(const QVariant& value)
{
    const QSignalBlocker blocker(this);
    setCurrentIndex(findData(value));
    setToolTip(m_twoLines || currentIndex() < 0 ? QString() : detail(currentIndex()));
    update();
}

int ChoiceBox::widthOf(const QString& text) const
{
    return std::max(40, QFontMetrics(uiFont(this)).horizontalAdvance(text)) + 2 * kMargin + kArrow + 2;
}

int ChoiceBox::widestEntry() const
{
    int widest = widthOf({});
    for (int i = 0; i < count(); ++i)
        widest = std::max(widest, widthOf(itemText(i)));
    return widest;
}

QSize ChoiceBox::sizeHint() const
{
    const int line = QFontMetrics(uiFont(this)).height();
    const int lines = m_twoLines ? line + QFontMetrics(uiFont(this, -1)).height() + 1 : line;
    return { 120, std::max(m_twoLines ? kTwoLineRowHeight - 4 : kRowHeight, lines + 10) };
}

QSize ChoiceBox::minimumSizeHint() const { return { 80, sizeHint().height() }; }

void ChoiceBox::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(hasFocus() ? theme.accent : theme.line, 1));
    painter.setBrush(underMouse() && isEnabled() ? theme.selection : blended(theme.panel, theme.window, theme.isDark ? 0.6 : 1));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kCornerRadius, kCornerRadius);
    paintEntry(painter, rect().adjusted(kMargin, 0, -kMargin - kArrow, 0), currentIndex() < 0 ? placeholderText() : currentText(),
               m_twoLines && currentIndex() >= 0 ? detail(currentIndex()) : QString(), this, isEnabled());
    const QPointF tip(width() - kMargin - 5, height() / 2.0 + 2);
    painter.setPen(QPen(theme.quiet, 1.5));
    painter.drawPolyline(QPolygonF({ tip + QPointF(-4, -4), tip, tip + QPointF(4, -4) }));
}

/// A wheel over a panel scrolls the panel; it must not change a design that nobody is looking at.
void ChoiceBox::wheelEvent(QWheelEvent* event) { event->ignore(); }

void ChoiceBox::showPopup()
{
    Q_EMIT aboutToShow();
    int wanted = width();
    for (int i = 0; i < count(); ++i)
        wanted = std::max(wanted, view()->sizeHintForIndex(model()->index(i, 0)).width() + 16);
    view()->setMinimumWidth(wanted);
    QComboBox::showPopup();
}

} // namespace shardboard
