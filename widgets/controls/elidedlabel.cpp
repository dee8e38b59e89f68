// SPDX-License-Identifier: Apache-2.0
#include "widgets/controls/elidedlabel.h"

#include "widgets/look/plaintext.h"

#include <QPainter>

#include <algorithm>

namespace shardboard {

ElidedLabel::ElidedLabel(QWidget* parent)
    : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void ElidedLabel::setText(const QString& text)
{
    if (text == m_text)
        return;
    m_text = text;
    setAccessibleName(text);
    updateGeometry();
    update();
}

void ElidedLabel::setElideMode(Qt::TextElideMode mode)
{
    m_mode = mode;
    update();
}

QString ElidedLabel::shownText() const { return fontMetrics().elidedText(m_text, m_mode, width()); }

QSize ElidedLabel::sizeHint() const { return { fontMetrics().horizontalAdvance(m_text) + 2, fontMetrics().height() + 2 }; }
QSize ElidedLabel::minimumSizeHint() const { return { std::min(40, sizeHint().width()), fontMetrics().height() + 2 }; }

void ElidedLabel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setPen(palette().color(foregroundRole()));
    painter.drawText(rect(), Qt::AlignLeft | Qt::AlignVCenter, shownText());
}

bool ElidedLabel::event(QEvent* event)
{
    const auto whole = [this](const QPoint&) { return shownText() == m_text ? QString() : m_text; };
    return answersToolTip(event, this, whole) || QWidget::event(event);
}

} // namespace shardboard
