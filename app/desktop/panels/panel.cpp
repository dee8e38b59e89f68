// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/panels/panel.h"

#include "widgets/controls/viewheader.h"
#include "widgets/document/documentview.h"

#include <QHideEvent>

#include <utility>

namespace shardboard {

Panel::Panel(const QString& name, const QString& title, QWidget* content, QWidget* parent)
    : StillFrame(content, parent)
    , m_content(content)
{
    setObjectName(name);
    setWindowTitle(title);
    setAccessibleName(title);
    hide(); // until it has a place
    for (ViewHeader* heading : content->findChildren<ViewHeader*>(QString(), Qt::FindDirectChildrenOnly))
        heading->installEventFilter(this);
    connect(this, &QWidget::windowTitleChanged, this, &QWidget::setAccessibleName);
    wake(false);
}

bool Panel::hasHeading() const { return m_content->findChild<ViewHeader*>(QString(), Qt::FindDirectChildrenOnly) != nullptr; }

void Panel::wake(bool seen)
{
    QList<DocumentView*> views = m_content->findChildren<DocumentView*>();
    if (auto* view = qobject_cast<DocumentView*>(m_content))
        views.prepend(view);
    for (DocumentView* view : std::as_const(views))
        view->setAsleep(!seen);
}

void Panel::showEvent(QShowEvent* event)
{
    StillFrame::showEvent(event);
    wake(true);
    Q_EMIT visibilityChanged(true);
}

void Panel::hideEvent(QHideEvent* event)
{
    QWidget::hideEvent(event);
    if (event->spontaneous()) // the window was minimized
        return;
    wake(false);
    Q_EMIT visibilityChanged(false);
}

bool Panel::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::MouseButtonDblClick) {
        Q_EMIT headingDoubleClicked();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace shardboard
