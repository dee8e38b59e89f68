// SPDX-License-Identifier: Apache-2.0
#include "widgets/controls/card.h"

#include "widgets/controls/wrappedlabel.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QSpacerItem>
#include <QVBoxLayout>

#include <utility>

namespace shardboard {

Card::Card(const QString& title, const QString& value, const QString& detail, Look look, QWidget* parent)
    : QWidget(parent)
    , m_column(new QVBoxLayout(this))
    , m_titleLabel(new WrappedLabel(QString(), this))
    , m_look(look)
{
    m_column->setContentsMargins(10, 7, 10, 7);
    m_column->setSpacing(2);
    auto* line = new QHBoxLayout;
    line->setSpacing(8);
    m_titleLabel->setFont(uiFont(parent, -0.5, true));
    line->addWidget(m_titleLabel, 1);
    if (!value.isEmpty()) {
        m_valueLabel = new QLabel(this);
        m_valueLabel->setTextFormat(Qt::PlainText);
        m_valueLabel->setFont(monoFont(parent, -0.5));
        line->addWidget(m_valueLabel, 0, Qt::AlignTop);
    }
    m_column->addLayout(line);
    if (!detail.isEmpty()) {
        m_detailLabel = new WrappedLabel(QString(), this);
        m_detailLabel->setFont(uiFont(parent, -1));
        m_column->addWidget(m_detailLabel);
    }
    setLook(look);
    setTexts(title, value, detail);
}

void Card::setLook(Look look)
{
    const Theme& theme = Theme::of(parentWidget());
    setTextColor(m_titleLabel, look == Look::Attention ? theme.attention : look == Look::Error ? theme.error : theme.text);
    if (m_detailLabel)
        setTextColor(m_detailLabel, look == Look::Attention || look == Look::Error ? theme.text : theme.quiet);
    if (look != m_look)
        update();
    m_look = look;
}

void Card::setTexts(const QString& title, const QString& value, const QString& detail)
{
    m_title = title;
    m_value = value;
    m_titleLabel->setFullText(title);
    if (m_valueLabel) {
        m_valueLabel->setText(value);
        setTextColor(m_valueLabel, value == tr("refused") ? Theme::of(this).error : Theme::of(this).text);
    }
    if (m_detailLabel)
        m_detailLabel->setFullText(detail);
    setAccessibleName(title);
    setAccessibleDescription(value + QLatin1Char(' ') + detail);
}

void Card::renew(const QString& title, const QString& value, const QString& detail, Look look)
{
    disconnect(this, &Card::activated, nullptr, nullptr);
    setObjectName(QString());
    if (hasFocus() && title != m_title)
        clearFocus(); // it was on something else
    if (!value.isEmpty() && !m_valueLabel) {
        m_valueLabel = new QLabel(this);
        m_valueLabel->setTextFormat(Qt::PlainText);
        m_valueLabel->setFont(monoFont(parentWidget(), -0.5));
        static_cast<QHBoxLayout*>(m_column->itemAt(0)->layout())->addWidget(m_valueLabel, 0, Qt::AlignTop);
    }
    if (!detail.isEmpty() && !m_detailLabel) {
        m_detailLabel = new WrappedLabel(QString(), this);
        m_detailLabel->setFont(uiFont(parentWidget(), -1));
        m_column->insertWidget(1, m_detailLabel);
    }
    setLook(look);
    setTexts(title, value, detail);
    if (m_valueLabel)
        m_valueLabel->setVisible(!value.isEmpty());
    if (m_detailLabel)
        m_detailLabel->setVisible(!detail.isEmpty());
    m_actionable = false;
    m_buttonAsked = false;
    show(); // it may have been hidden
}

void Card::settled()
{
    if (!m_actionable && focusPolicy() != Qt::NoFocus) {
        clearFocus();
        setFocusPolicy(Qt::NoFocus);
        unsetCursor();
        setToolTip(QString());
    }
    if (!m_button || m_buttonAsked)
        return;
    m_column->removeItem(m_buttonSpace);
    delete m_buttonSpace;
    m_buttonSpace = nullptr;
    delete std::exchange(m_button, nullptr);
    delete std::exchange(m_beside, nullptr);
}

void Card::setActionable(const QString& toolTip)
{
    m_actionable = true;
    if (focusPolicy() != Qt::StrongFocus) {
        setFocusPolicy(Qt::StrongFocus);
        setCursor(Qt::PointingHandCursor);
    }
    setToolTip(toolTip);
}

QPushButton* Card::addButton(const QString& text, const QString& beside)
{
    m_buttonAsked = true;
    if (m_button) {
        disconnect(m_button, &QPushButton::clicked, nullptr, nullptr);
        if (m_button->hasFocus() && m_button->accessibleName() != text)
            m_button->clearFocus();
    } else {
        m_button = new QPushButton(this);
        m_buttonSpace = new QSpacerItem(0, 4, QSizePolicy::Minimum, QSizePolicy::Fixed);
        m_column->addSpacerItem(m_buttonSpace);
        m_column->addWidget(m_button, 0, Qt::AlignLeft);
        m_button->setVisible(true);
    }
    m_button->setAccessibleName(text);
    m_button->setToolTip(text);
    m_button->setFont(uiFont(this, -0.5, true));
    constexpr int kMost = 272; // the narrowest inspector less its margins
    constexpr int kPadding = 28;
    m_button->setText(menuText(QFontMetrics(m_button->font()).elidedText(text, Qt::ElideMiddle, kMost - kPadding)));
    m_button->update();
    if (beside.isEmpty()) {
        delete std::exchange(m_beside, nullptr);
    } else if (m_beside) {
        m_beside->setFullText(beside);
    } else {
        m_beside = new WrappedLabel(beside, this);
        setTextColor(m_beside, Theme::of(this).attention);
        m_beside->setFont(uiFont(this, -1, true));
        m_column->addWidget(m_beside);
        m_beside->setVisible(true);
    }
    return m_button;
}

void Card::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QColor border = theme.line;
    QColor fill = theme.panel;
    if (m_look == Look::Chosen) {
        border = theme.accent;
        fill = theme.selection;
    } else if (m_look == Look::Attention) {
        border = theme.attention;
        fill = theme.attentionFill;
    } else if (m_look == Look::Error) {
        border = theme.error;
        fill = blended(theme.panel, theme.error, 0.1);
    }
    painter.setPen(QPen(hasFocus() ? theme.accent : border, hasFocus() ? 2 : 1));
    painter.setBrush(fill);
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), kCornerRadius, kCornerRadius);
}

void Card::mouseReleaseEvent(QMouseEvent* event)
{
    if (m_actionable && event->button() == Qt::LeftButton && rect().contains(event->pos()))
        Q_EMIT activated();
}

void Card::keyPressEvent(QKeyEvent* event)
{
    if (m_actionable && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Space))
        Q_EMIT activated();
    else
        QWidget::keyPressEvent(event);
}

void Card::focusInEvent(QFocusEvent*) { update(); }
void Card::focusOutEvent(QFocusEvent*) { update(); }

} // namespace shardboard
