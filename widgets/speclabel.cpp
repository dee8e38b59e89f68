// SPDX-License-Identifier: Apache-2.0
#include "widgets/speclabel.h"

#include "widgets/theme.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QMenu>
#include <QPainter>
#include <QTextLayout>
#include <QTextOption>

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

/// Breaks the text into lines of this width; answers their height.
double arrange(QTextLayout& layout, Qt::Alignment alignment, int width)
{
    QTextOption option(alignment);
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    layout.setTextOption(option);
    layout.beginLayout();
    double y = 0;
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(std::max(width, 1));
        line.setPosition(QPointF(0, y));
        y += std::ceil(line.height());
    }
    layout.endLayout();
    return y;
}

} // namespace

SpecLabel::SpecLabel(QWidget* parent)
    : QWidget(parent)
    , m_font(monoFont(this))
{
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void SpecLabel::setText(const QString& text)
{
    if (text == m_text)
        return;
    m_text = text;
    setAccessibleName(text);
    updateGeometry();
    update();
}

void SpecLabel::setAlignment(Qt::Alignment alignment)
{
    m_alignment = alignment;
    update();
}

void SpecLabel::setTextFont(const QFont& font)
{
    m_font = font;
    updateGeometry();
    update();
}

QSize SpecLabel::sizeHint() const
{
    const QFontMetrics metrics(m_font);
    return { metrics.horizontalAdvance(m_text) + 2, metrics.height() };
}

QSize SpecLabel::minimumSizeHint() const { return { 60, QFontMetrics(m_font).height() }; }

int SpecLabel::heightForWidth(int width) const
{
    QTextLayout layout(m_text, m_font);
    return std::max(static_cast<int>(arrange(layout, m_alignment, width)), QFontMetrics(m_font).height());
}

void SpecLabel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setPen(palette().color(QPalette::Text));
    QTextLayout layout(m_text, m_font);
    arrange(layout, m_alignment, width());
    layout.draw(&painter, QPointF(0, 0));
}

void SpecLabel::contextMenuEvent(QContextMenuEvent* event)
{
    QMenu menu(this);
    connect(menu.addAction(tr("Copy")), &QAction::triggered, this,
            [this] { QGuiApplication::clipboard()->setText(m_text); });
    menu.exec(event->globalPos());
}

} // namespace shardboard
