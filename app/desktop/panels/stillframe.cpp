// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/panels/stillframe.h"

#include <QEvent>
#include <QLayoutItem>

namespace shardboard {

StillFrame::StillFrame(QWidget* content, QWidget* parent)
    : QWidget(parent)
    , m_held(content)
{
    content->setParent(this);
    content->show();
}

QSize StillFrame::sizeHint() const { return QWidgetItem(m_held).sizeHint(); }
QSize StillFrame::minimumSizeHint() const { return QWidgetItem(m_held).minimumSize(); }

bool StillFrame::event(QEvent* event)
{
    if (event->type() == QEvent::LayoutRequest)
        follow();
    return QWidget::event(event);
}

void StillFrame::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    m_held->setGeometry(rect());
}

void StillFrame::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    follow(); // nothing was heard while it was hidden
}

void StillFrame::follow()
{
    const QSize wanted = sizeHint();
    const QSize least = minimumSizeHint();
    if (wanted == m_wanted && least == m_least)
        return;
    m_wanted = wanted;
    m_least = least;
    updateGeometry();
}

} // namespace shardboard
