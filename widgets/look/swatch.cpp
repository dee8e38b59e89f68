// SPDX-License-Identifier: Apache-2.0
#include "widgets/look/swatch.h"

#include <QPainter>

namespace shardboard {

Swatch::Swatch(const PartColor& color, QWidget* parent)
    : QWidget(parent)
    , m_color(color)
{
    setFixedSize(12, 12);
}

void Swatch::setColor(const PartColor& color)
{
    m_color = color;
    update();
}

void Swatch::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), m_color.fill);
    if (m_color.hatch != Qt::NoBrush)
        painter.fillRect(rect(), QBrush(m_color.hatchColor, m_color.hatch));
}

} // namespace shardboard
